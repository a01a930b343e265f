/**
 * Whether a text has the form of a cron expression (scheduling reference §14): five fields; six
 * with the year at the end; seven with seconds first as well. Says what is wrong, or undefined.
 * When it will next be due is another question, which needs a calendar.
 */
export function checkCronShape(spec: string): string | undefined {
  const text = spec.trim()
  if (text.length > SPEC_CHARS_MAX) return `it is longer than ${SPEC_CHARS_MAX} characters`
  if (text.startsWith('@'))
    return MACROS.includes(text) ? undefined : `unrecognized macro ${JSON.stringify(text)}`
  const fields = text === '' ? [] : text.split(/\s+/)
  const kinds = LAYOUTS[fields.length]
  if (kinds === undefined) return `expected 5, 6 or 7 fields, found ${fields.length}`
  for (const [i, kind] of kinds.entries()) {
    const problem = checkField(fields[i] ?? '', kind)
    if (problem !== undefined) return problem
  }
  return undefined
}

const SPEC_CHARS_MAX = 1_024
const MACROS = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@hourly']

interface FieldKind {
  readonly name: string
  readonly min: number
  readonly max: number
  /** Names that stand for numbers, from `min` upward. */
  readonly names?: readonly string[]
  /** Forms beyond numbers, ranges and steps, such as `L` or `15W`. */
  readonly special?: RegExp
}

const MONTHS = 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split(' ')
const DAYS = 'SUN MON TUE WED THU FRI SAT'.split(' ')

const SECOND: FieldKind = { name: 'second', min: 0, max: 59 }
const MINUTE: FieldKind = { name: 'minute', min: 0, max: 59 }
const HOUR: FieldKind = { name: 'hour', min: 0, max: 23 }
const DAY_OF_MONTH: FieldKind = {
  name: 'day of month',
  min: 1,
  max: 31,
  special: /^(?:L|LW|(?:[1-9]|[12]\d|3[01])W)$/i,
}
const MONTH: FieldKind = { name: 'month', min: 1, max: 12, names: MONTHS }
const DAY_OF_WEEK: FieldKind = {
  name: 'day of week',
  min: 0,
  max: 7,
  names: DAYS,
  special: /^(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(?:L|#[1-5])$/i,
}
const YEAR: FieldKind = { name: 'year', min: 1970, max: 2099 }

const FIVE = [MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK]
const LAYOUTS: Readonly<Record<number, readonly FieldKind[]>> = {
  5: FIVE,
  6: [...FIVE, YEAR],
  7: [SECOND, ...FIVE, YEAR],
}

/** A list of entries; each is `*`, a value or a range, optionally with a step. */
function checkField(field: string, kind: FieldKind): string | undefined {
  const wrong = `syntax error in ${kind.name} field: ${JSON.stringify(field)}`
  return field.split(',').every((entry) => isEntry(entry, kind)) ? undefined : wrong
}

function isEntry(entry: string, kind: FieldKind): boolean {
  if (kind.special?.test(entry) === true) return true
  const [range = '', step, ...more] = entry.split('/')
  if (more.length > 0 || (step !== undefined && !isStep(step, kind))) return false
  if (range === '*' || range === '?') return true
  const [from = '', to, ...rest] = range.split('-')
  const first = valueOf(from, kind)
  if (first === undefined || rest.length > 0) return false
  if (to === undefined) return true
  const last = valueOf(to, kind)
  return last !== undefined && first <= last
}

function isStep(text: string, kind: FieldKind): boolean {
  return /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= kind.max
}

function valueOf(text: string, kind: FieldKind): number | undefined {
  const named = kind.names?.indexOf(text.toUpperCase()) ?? -1
  if (named >= 0) return kind.min + named
  if (!/^\d{1,4}$/.test(text)) return undefined
  const value = Number(text)
  return value >= kind.min && value <= kind.max ? value : undefined
}
