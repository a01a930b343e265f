/** Reports whether the key is typed into a text field, and is no shortcut. */
export function isTyping({ target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false
  const isField = /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
  return isField || target.isContentEditable || target.closest('.xterm') !== null
}
