/** Splits the `Warnings` of a plan; omits denials, which are shown with their rule and line. */
export function planWarnings(text: string): readonly string[] {
  const [head = '', ...items] = text.split(/^\s*\* /m)
  const all = items.length === 0 ? [head] : items
  return all
    .map((item) => item.trim())
    .filter((item) => item !== '' && !item.startsWith(DENIAL_PREFIX))
}

const DENIAL_PREFIX = 'would be denied: '
