import { encodeBase64 } from '@reeve/kit/base64.ts'
import { ok, type Result } from '@reeve/kit/result.ts'
import { decodeUtf8 } from '@reeve/kit/utf8.ts'
import { quoteText, type FunctionDefinition, type FunctionError } from '@reeve/hcl'
import { text } from '../argument.ts'
import { define, fail, failArgument, type FunctionResult } from '../define.ts'
import type { FileFunctions } from '../options.ts'
import { baseName, cleanPath, directoryName, joinPath } from './path.ts'
import { compilePathPattern } from './path-pattern.ts'

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
