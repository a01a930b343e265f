import { fail, isBreakOrBlank, peek, type Reader } from './reader.ts'

/** What the handles of tags stand for, and whether a version was stated. */
export interface Tags {
  readonly prefixes: Map<string, string>
  hasVersion: boolean
}

const CORE = 'tag:yaml.org,2002:'

export function makeTags(): Tags {
  return { prefixes: new Map([['!!', CORE]]), hasVersion: false }
}

const VERSION = /%YAML[ \t]+(\d+)\.\d+[ \t]*(?:[ \t]#[^\n]*)?(?=\n|$)/y
const HANDLE = /%TAG[ \t]+(!(?:[\w-]*!)?)[ \t]+(\S+)[ \t]*(?:[ \t]#[^\n]*)?(?=\n|$)/y
const OTHER = /%[^\n]*/y

/** `%YAML`, `%TAG`, or one that is reserved and passed over. */
export function readDirective(reader: Reader, tags: Tags): void {
  const version = match(reader, VERSION)
  const handle = match(reader, HANDLE)
  if (version !== undefined) {
    if (version[1] !== '1') fail(reader, `YAML ${version[1]} is not known; this is YAML 1.2`)
    if (tags.hasVersion) fail(reader, '%YAML may stand there only once')
    tags.hasVersion = true
  } else if (handle !== undefined) tags.prefixes.set(handle[1] ?? '', handle[2] ?? '')
  else if (/^%(?:YAML|TAG)\b/.test(reader.text.slice(reader.at, reader.at + 8)))
    fail(reader, 'the directive must be "%YAML 1.2" or "%TAG !handle! prefix"')
  const line = match(reader, OTHER)
  reader.at += line?.[0].length ?? 0
}

function match(reader: Reader, pattern: RegExp): RegExpExecArray | undefined {
  pattern.lastIndex = reader.at
  return pattern.exec(reader.text) ?? undefined
}

const VERBATIM = /!<([^\s<>]+)>/y
const SHORTHAND = /(!(?:[\w-]*!)?)([^\s,[\]{}!]*)/y

/** The full name of the tag that starts here; `!` alone stays as it is. */
export function scanTag(reader: Reader, tags: Tags): string | undefined {
  const verbatim = match(reader, VERBATIM)
  const found = verbatim ?? match(reader, SHORTHAND)
  if (found === undefined) return fail(reader, 'the tag is not valid')
  const name = verbatim === undefined ? nameOf(reader, found, tags) : verbatim[1]
  if (name === undefined) return undefined
  reader.at += found[0].length
  const next = peek(reader)
  if (!isBreakOrBlank(next) && !',[]{}'.includes(next))
    return fail(reader, 'a blank is expected after a tag')
  return name
}

function nameOf(reader: Reader, found: RegExpExecArray, tags: Tags): string | undefined {
  const [whole, handle = '', suffix = ''] = found
  const prefix = tags.prefixes.get(handle)
  if (prefix !== undefined && suffix !== '') return prefix + decodeSuffix(suffix)
  if (handle === '!') return whole
  return fail(reader, `the handle of the tag ${JSON.stringify(whole)} was not declared with %TAG`)
}

/** A tag is an address, so signs may be written as `%21`. */
function decodeSuffix(suffix: string): string {
  return suffix.replace(/%([2-7][0-9a-fA-F])/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}
