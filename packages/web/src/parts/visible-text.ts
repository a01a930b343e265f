/** Colours of terminals: the page has its own. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const COLOURS = /\u001b\[[0-9;]*m/g

/** Characters that nobody sees, and that may show the text behind them in another order. */
// oxlint-disable-next-line no-control-regex -- the same
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/**
 * Text of tasks as it can be trusted on a page: colours are left out, control characters and
 * bidirectional overrides become signs that are seen. Line feeds and tabs stay.
 */
export function visibleText(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(COLOURS, '').replaceAll(HIDDEN, signOf)
}

/** The same of a name, which has no lines. */
export function visibleName(name: string): string {
  return name.replaceAll(/[\n\t]/g, signOf).replaceAll(HIDDEN, signOf)
}

/** Unicode has a picture for each control character of ASCII. */
const PICTURES = 0x24_00

function signOf(character: string): string {
  const code = character.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(PICTURES + code)
  return code === 0x7f ? '␡' : `\\u${code.toString(16).padStart(4, '0')}`
}
