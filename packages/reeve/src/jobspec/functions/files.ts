import { encodeBase64 } from '@reeve/kit/base64.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { decodeUtf8 } from '@reeve/kit/utf8.ts'
import { quoteText, type FunctionDefinition, type FunctionError } from '@reeve/hcl'
import { compileRegex, quoteRegex } from '@reeve/kit/regex.ts'
import { text } from './argument.ts'
import { define, fail, failArgument, type FileFunctions, type FunctionResult } from './define.ts'
import { FILESET_DEPTH_MAX, PATTERN_CHARACTERS_MAX } from './limits.ts'

type FileCall = (files: FileFunctions, path: string) => FunctionResult

/** Without file access all functions fail: a job file must not read the disk of a server. */
export function fileFunctions(
  files: FileFunctions | undefined,
): Readonly<Record<string, FunctionDefinition>> {
  const calls = Object.entries(CALLS).map(([name, call]): [string, FunctionDefinition] => [
    name,
    define([text('path')], ([path]) => withFiles(files, (known) => call(known, path))),
  ])
  const fileset = define([text('path'), text('pattern')], ([path, pattern]) =>
    withFiles(files, (known) => listFiles(known, path, pattern)),
  )
  return { ...Object.fromEntries(calls), fileset }
}

function withFiles(
  files: FileFunctions | undefined,
  use: (files: FileFunctions) => FunctionResult,
): FunctionResult {
  return files === undefined ? fail(DISABLED) : use(files)
}

const DISABLED =
  'filesystem function disabled: a server does not have your files. Write the text into the job file, or give it as a variable'

const CALLS: Readonly<Record<string, FileCall>> = {
  abspath: (files, path) => ok(cleanPath(files.absolute(path))),
  basename: (_, path) => ok(baseName(path)),
  dirname: (_, path) => ok(directoryName(path)),
  file(files, path) {
    const bytes = readBytes(files, path)
    if (!bytes.ok) return bytes
    const content = decodeUtf8(bytes.value)
    return content === undefined
      ? failArgument(0, `${quoteText(path)} is not UTF-8 text; use filebase64`)
      : ok(content)
  },
  filebase64(files, path) {
    const bytes = readBytes(files, path)
    return bytes.ok ? ok(encodeBase64(bytes.value)) : bytes
  },
  fileexists(files, path) {
    const expanded = expandHome(files, path)
    if (!expanded.ok) return expanded
    const exists = files.exists(expanded.value)
    return exists.ok ? exists : failArgument(0, exists.error)
  },
  pathexpand: expandHome,
}

function readBytes(files: FileFunctions, path: string): Result<Uint8Array, FunctionError> {
  const expanded = expandHome(files, path)
  if (!expanded.ok) return expanded
  const bytes = files.read(expanded.value)
  return bytes.ok ? bytes : failArgument(0, bytes.error)
}

/** Expands `~` and `~/x`. Home directories of other users (`~name`) are not supported. */
function expandHome(files: FileFunctions, path: string): Result<string, FunctionError> {
  if (!path.startsWith('~')) return ok(path)
  if (path !== '~' && !path.startsWith('~/'))
    return failArgument(0, `only "~" and "~/…" can be expanded, not ${quoteText(path)}`)
  const home = files.home()
  if (home === undefined) return failArgument(0, 'there is no home directory')
  return ok(path === '~' ? home : joinPath(home, path.slice(2)))
}

/** The matching paths below the directory, sorted. */
function listFiles(files: FileFunctions, path: string, pattern: string): FunctionResult {
  const compiled = compilePathPattern(pattern)
  if (!compiled.ok) return failArgument(1, `pattern ${compiled.error}`)
  const { depthMax, matches } = compiled.value
  const expanded = expandHome(files, path)
  if (!expanded.ok) return expanded
  const found = files.list(expanded.value, depthMax)
  if (!found.ok) return failArgument(0, found.error)
  return ok(found.value.filter(matches).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)))
}

// Functions on paths as strings with `/` separators; they do not access the file system.

/** The last element: `.` for an empty path, `/` for the root. */
function baseName(path: string): string {
  if (path === '') return '.'
  return path.split('/').findLast((name) => name !== '') ?? '/'
}

/** The cleaned path without its last element. */
function directoryName(path: string): string {
  return cleanPath(path.slice(0, path.lastIndexOf('/') + 1))
}

/** Removes empty elements, `.` and resolvable `..`; returns `.` for an empty result. */
function cleanPath(path: string): string {
  const root = path.startsWith('/') ? '/' : ''
  const names: string[] = []
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue
    if (name !== '..') names.push(name)
    else if (names.length > 0 && names.at(-1) !== '..') names.pop()
    else if (root === '') names.push(name)
  }
  return root + names.join('/') || '.'
}

function joinPath(directory: string, path: string): string {
  return cleanPath(`${directory}/${path}`)
}

interface PathPattern {
  /** How many directory levels a matching path may have below the start. */
  readonly depthMax: number
  readonly matches: (path: string) => boolean
}

/**
 * Compiles a glob to a linear-time regular expression: `*` and `?` within a name, `**` across
 * names, `[a-z]`, `[^a-z]`, `{a,b}`, and backslash escapes.
 */
function compilePathPattern(pattern: string): Result<PathPattern, string> {
  if (pattern.length > PATTERN_CHARACTERS_MAX)
    return err(`must have at most ${PATTERN_CHARACTERS_MAX} characters`)
  const source = translate(pattern)
  if (!source.ok) return source
  const compiled = compileRegex(`^(?:${source.value})$`, PATH_PATTERN_LIMITS)
  if (!compiled.ok)
    return err(`cannot be used: its regular expression is ${compiled.error.message}`)
  const { regex } = compiled.value
  const depthMax = pattern.includes('**')
    ? FILESET_DEPTH_MAX
    : Math.min(FILESET_DEPTH_MAX, pattern.split('/').length - 1)
  return ok({ depthMax, matches: (path) => regex.matches(path) })
}

/** A character of the pattern expands to at most a dozen characters. */
const PATH_PATTERN_LIMITS = {
  lengthMax: 16 * PATTERN_CHARACTERS_MAX,
  sizeMax: 16 * PATTERN_CHARACTERS_MAX,
  matchesLineEnds: true,
}

const TOKEN = /\*\*\/|\*\*|\*|\?|\[(\^|!)?([^\]]+)\]|\\(.)|[{},]|[^]/gu

function translate(pattern: string): Result<string, string> {
  let source = ''
  let depth = 0
  for (const [token, negation, members, escaped] of pattern.matchAll(TOKEN)) {
    if (token === '**/') source += '(?:.*/)?'
    else if (token === '**') source += '.*'
    else if (token === '*') source += '[^/]*'
    else if (token === '?') source += '[^/]'
    else if (members !== undefined) source += characterClass(members, negation !== undefined)
    else if (escaped !== undefined) source += quoteRegex(escaped)
    else if (token === '{') {
      depth++
      source += '(?:'
    } else if (token === '}' && depth > 0) {
      depth--
      source += ')'
    } else source += token === ',' && depth > 0 ? '|' : quoteRegex(token)
  }
  if (depth > 0) return err('has a "{" without its "}"')
  return ok(source)
}

/** Keeps ranges and escapes every other special character. */
function characterClass(members: string, isNegated: boolean): string {
  let source = ''
  for (const [, from = '', to] of members.matchAll(/\\?([^])(?:-\\?([^]))?/gu))
    source +=
      to === undefined || to < from
        ? [from, to ?? ''].map(escapeMember).join('')
        : `${escapeMember(from)}-${escapeMember(to)}`
  return `[${isNegated ? '^/' : ''}${source}]`
}

function escapeMember(member: string): string {
  return /^[\^\]\\[-]$/.test(member) ? `\\${member}` : member
}
