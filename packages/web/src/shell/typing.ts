/** Whether the key goes into a text: then it is no command. */
export function isTyping({ target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false
  const isField = /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
  return isField || target.isContentEditable || target.closest('.xterm') !== null
}
