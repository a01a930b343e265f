import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { JobSubmission, ParsedJob } from '@reeve/contract'
import type { FileFunctions, SourceMap } from '../../jobspec/index.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { CommandContext } from '../command.ts'
import { CommandError } from '../errors.ts'
import type { CliHost } from '../host.ts'
import { readFileOrStdin } from '../input.ts'

/** A parsed job with its source. */
export interface LoadedJob {
  readonly job: ParsedJob & { readonly ID: string }
  /** The source, which the server stores with the job. */
  readonly submission: Partial<JobSubmission>
  /** Source positions of fields; undefined for jobs in API JSON. */
  readonly sourceMap: SourceMap | undefined
}

/** Upper limit for reading a job file. The server rejects smaller files beyond its own limit. */
const FILE_BYTES_MAX = 32 * 1024 * 1024

/** Reads a job file: HCL, its JSON form, or a job in API JSON. */
export async function readJobFile(invocation: CommandContext, path: string): Promise<LoadedJob> {
  const { host, flags } = invocation
  const text = await readText(invocation, path, JOB_FILE)
  const apiJob = findApiJob(text)
  if (apiJob !== undefined) {
    // The server validates every field and describes the errors.
    const submission = { Source: text, Format: 'json' }
    return { job: withId(apiJob, path), submission, sourceMap: undefined }
  }
  const name = path === '-' ? '<stdin>' : basename(path)
  const variableTexts = await readVariableFiles(invocation)
  // Loaded on demand, because the HCL parser is large.
  const { formatProblems: describeProblems, parseText } = await import('./parse-text.ts')
  const isLegacy = flags.has('hcl1')
  const parsed = parseText({
    file: name,
    text,
    variableTexts,
    flags: flags.keyValues('var'),
    environment: host.environment,
    strict: !flags.has('allow-unknown-vars'),
    files: createFileFunctions(
      path === '-' ? host.directory : dirname(resolve(host.directory, path)),
      host,
    ),
    nowMs: host.nowMs(),
    ...(host.jobFileAliases !== undefined && { aliases: host.jobFileAliases }),
    isLegacy,
  })
  const texts = new Map([{ file: name, text }, ...variableTexts].map((one) => [one.file, one.text]))
  if (!parsed.ok) {
    const files = new Set(parsed.error.map(({ range }) => range.file))
    const paths = [...files].map((file) => (file === name ? path : file))
    throw invalidFilesError(paths, describeProblems(texts, parsed.error), {
      count: parsed.error.length,
      isJobFile: files.has(name),
    })
  }
  const { job, positions, warnings } = parsed.value
  if (warnings.length > 0) invocation.output.printNotice(describeProblems(texts, warnings))
  const submission = {
    Source: text,
    Format: isLegacy ? 'hcl1' : 'hcl2',
    VariableFlags: flags.keyValues('var'),
    Variables: variableTexts.map((one) => one.text).join('\n'),
  }
  return { job: withId(job, path), submission, sourceMap: positions }
}

function invalidFilesError(
  paths: readonly string[],
  problems: string,
  { count, isJobFile }: { readonly count: number; readonly isJobFile: boolean },
): CommandError {
  const errors = count === 1 ? '1 error' : `${count} errors`
  const where = paths.map(displayPath).join(' and ')
  const example = isJobFile ? ' "reeve job init" writes a valid example.' : ''
  return new CommandError(`${errors} in ${where}:\n\n${problems}\n`, {
    hint: `Nothing was sent to the server.${example}`,
  })
}

function withId(job: ParsedJob, path: string): LoadedJob['job'] {
  const { ID } = job
  if (typeof ID === 'string' && ID !== '') return { ...job, ID }
  throw new CommandError(`The job in ${displayPath(path)} has no ID.`)
}

function displayPath(path: string): string {
  return path === '-' ? 'standard input' : path
}

/** Texts for errors about a kind of file. */
interface FileKind {
  readonly noun: string
  readonly missingHint: string
}

export const JOB_FILE: FileKind = {
  noun: 'job file',
  missingHint: '"reeve job init" writes a first job file; "-" reads standard input.',
}

const VARIABLE_FILE: FileKind = {
  noun: 'variable file',
  missingHint: '--var-file names a file with values of variables, such as: count = 3',
}

/** Reads a file as text, or standard input for "-". */
export async function readText(
  invocation: CommandContext,
  path: string,
  kind: FileKind,
): Promise<string> {
  const bytes = await readFileOrStdin(invocation, path, {
    bytesMax: FILE_BYTES_MAX,
    onReadError: (thrown) => describeReadError(path, kind, thrown),
    onTooLong: () => new CommandError(`${path} is too large for a ${kind.noun}.`),
  })
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CommandError(`${displayPath(path)} is not text in UTF-8: is it a ${kind.noun}?`)
  }
}

/** Creates the error for a file that cannot be read. */
function describeReadError(path: string, kind: FileKind, thrown: unknown): CommandError {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  if (code === 'ENOENT') {
    return new CommandError(`There is no file ${path} here.`, {
      hint: kind.missingHint,
    })
  }
  if (code === 'EISDIR') {
    return new CommandError(`${path} is a directory.`, { hint: `Name a ${kind.noun} in it.` })
  }
  return new CommandError(`${path} cannot be read: ${errorMessage(thrown)}.`)
}

async function readVariableFiles(invocation: CommandContext) {
  const paths = invocation.flags.strings('var-file')
  return await Promise.all(
    paths.map(async (path) => ({
      file: path,
      text: await readText(invocation, path, VARIABLE_FILE),
    })),
  )
}

/**
 * Fields that identify a job in API JSON; job files in JSON have `job`, `variable` and `locals`.
 */
const API_JOB_FIELDS = ['ID', 'TaskGroups'] as const

/** Returns the job of `{"Job": {…}}` or a bare API job; undefined for job files. */
function findApiJob(text: string): ParsedJob | undefined {
  if (!isJson(text)) return undefined
  const read = parseJson(text)
  const isJob = API_JOB_FIELDS.some((name) => memberOf(read, name) !== undefined)
  const job = memberOf(read, 'Job') ?? (isJob ? read : undefined)
  if (typeof job !== 'object' || job === null) return undefined
  return job
}

/** Whether the text is JSON: HCL never starts with a brace. */
export function isJson(text: string): boolean {
  return /^\uFEFF?\s*\{/.test(text)
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.entries(value).find(([key]) => key === name)?.[1]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    return undefined
  }
}

/** Maximum size of a file that a job file reads: its content becomes part of the job. */
const ACCESS_FILE_BYTES_MAX = 16 * 1024 * 1024
const FILES_MAX = 10_000

/**
 * Creates the local file functions of job files, such as `file()`. Relative paths start at the job
 * file.
 */
export function createFileFunctions(
  directory: string,
  { environment }: Pick<CliHost, 'environment'>,
): FileFunctions {
  const absolute = (path: string): string => resolve(directory, path)
  return {
    absolute,
    home: () => environment['HOME'],
    read: (path) => attempt(() => readBounded(absolute(path))),
    exists: (path) => attempt(() => isFile(absolute(path))),
    list: (path, depthMax) => attempt(() => listFiles(absolute(path), depthMax)),
  }
}

class UnsuitableFile extends Error {}

function attempt<T>(operation: () => T): Result<T, string> {
  try {
    return ok(operation())
  } catch (thrown) {
    // Removes the code and the path of system errors such as `ENOENT: no such file or directory,
    // open '…'`.
    return err(
      errorMessage(thrown)
        .replace(/^[A-Z]+: /, '')
        .replace(/, \w+ '/, " '"),
    )
  }
}

/**
 * Reads a regular file up to the limit. The limit is checked while reading, because the file may
 * grow.
 */
function readBounded(path: string): Uint8Array {
  if (!statSync(path).isFile()) throw new UnsuitableFile(`${path} is not a regular file`)
  const descriptor = openSync(path, 'r')
  try {
    const bytes = new Uint8Array(ACCESS_FILE_BYTES_MAX + 1)
    let length = 0
    for (;;) {
      const count = readSync(descriptor, bytes, length, bytes.length - length, null)
      length += count
      if (length > ACCESS_FILE_BYTES_MAX)
        throw new UnsuitableFile(`${path} has more than ${ACCESS_FILE_BYTES_MAX} bytes`)
      if (count === 0) return bytes.slice(0, length)
    }
  } finally {
    closeSync(descriptor)
  }
}

function isFile(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return false
  if (!found.isFile()) throw new UnsuitableFile(`${path} is not a regular file`)
  return true
}

function listFiles(root: string, depthMax: number): readonly string[] {
  const found: string[] = []
  const walk = (below: string, depth: number): void => {
    for (const entry of readdirSync(join(root, below), { withFileTypes: true })) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`
      if (entry.isFile()) found.push(path)
      else if (entry.isDirectory() && depth < depthMax) walk(path, depth + 1)
      if (found.length > FILES_MAX)
        throw new UnsuitableFile(`there are more than ${FILES_MAX} files in ${root}`)
    }
  }
  walk('', 0)
  return found
}
