/**
 * One line for people from one line of JSON: time of day, level, message, fields. Logged text may
 * come from anybody, so whatever could move the cursor or begin a line is escaped.
 */
export function toLine(json: string): string {
  const entry = parseEntry(json)
  if (entry === undefined) return json
  const { time, level, message, err, ...fields } = entry
  const parts = [
    toText(time).slice(11, 23),
    toText(level).toUpperCase().padEnd(5),
    escape(toText(message)),
    ...Object.entries(fields).map(([name, value]) => `${escape(name)}=${showValue(value)}`),
  ]
  return `${parts.join(' ')}${showError(err)}\n`
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

type Entry = Readonly<Record<string, unknown>>

function parseEntry(json: string): Entry | undefined {
  try {
    const parsed: unknown = JSON.parse(json)
    return isEntry(parsed) ? parsed : undefined
  } catch {
    // Not a line of the logger: better shown as it is than lost.
    return undefined
  }
}

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const CONTROL = /[\p{Cc}\u2028\u2029]/gu
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t' }

function escape(text: string): string {
  const code = (sign: string): string => sign.charCodeAt(0).toString(16).padStart(4, '0')
  return text.replace(CONTROL, (sign) => SHORT[sign] ?? `\\u${code(sign)}`)
}

function showValue(value: unknown): string {
  const isWord = typeof value === 'string' && /^[^\s"=]+$/.test(value)
  return escape(isWord ? value : JSON.stringify(value))
}

/** A fault's message says what failed; anything else is a mistake of ours, found by its stack. */
function showError(err: unknown): string {
  if (!isEntry(err)) return err === undefined ? '' : ` err=${showValue(err)}`
  const { type, message, stack } = err
  const line = ` err=${showValue(message)}`
  if (type === 'Fault' || typeof stack !== 'string') return line
  const frames = stack.split('\n').filter((frame) => frame.startsWith('    at '))
  return [line, ...frames.map(escape)].join('\n')
}
