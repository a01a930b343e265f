/**
 * Formats a JSON log line as text: time of day, level, message, fields. Logged text may be
 * untrusted, so control characters and line breaks are escaped.
 */
export function formatLogLine(json: string): string {
  const entry = parseEntry(json)
  if (entry === undefined) return json
  const { time, level, message, err, ...fields } = entry
  const parts = [
    toText(time).slice(11, 23),
    toText(level).toUpperCase().padEnd(5),
    escapeControls(toText(message)),
    ...Object.entries(fields).map(
      ([name, value]) => `${escapeControls(name)}=${formatValue(value)}`,
    ),
  ]
  return `${parts.join(' ')}${formatError(err)}\n`
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
    // Not a JSON log line; printed unchanged.
    return undefined
  }
}

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const CONTROL = /[\p{Cc}\u2028\u2029]/gu
const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t' }

function escapeControls(text: string): string {
  const code = (sign: string): string => sign.charCodeAt(0).toString(16).padStart(4, '0')
  return text.replace(CONTROL, (sign) => SHORT_ESCAPES[sign] ?? `\\u${code(sign)}`)
}

function formatValue(value: unknown): string {
  const isWord = typeof value === 'string' && /^[^\s"=]+$/.test(value)
  return escapeControls(isWord ? value : JSON.stringify(value))
}

/** A Fault is shown by its message; any other error is a bug and is shown with its stack. */
function formatError(err: unknown): string {
  if (!isEntry(err)) return err === undefined ? '' : ` err=${formatValue(err)}`
  const { type, message, stack } = err
  const line = ` err=${formatValue(message)}`
  if (type === 'Fault' || typeof stack !== 'string') return line
  const frames = stack.split('\n').filter((frame) => frame.startsWith('    at '))
  return [line, ...frames.map(escapeControls)].join('\n')
}
