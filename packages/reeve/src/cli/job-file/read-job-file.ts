import { basename, dirname, resolve } from 'node:path'
import type { JobSubmission, ParsedJob } from '@reeve/contract'
import type { Positions } from '../../jobspec/index.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { Invocation } from '../command.ts'
import { CommandFailure } from '../failure.ts'
import { fileBytes } from '../input.ts'
import { fileAccess } from './file-access.ts'

/** A job as it was written, and as the API takes it. */
export interface ReadJob {
  readonly job: ParsedJob & { readonly ID: string }
  /** Kept by the server beside the job. */
  readonly submission: Partial<JobSubmission>
  /** Where each field was written; undefined for a job in the JSON of the API. */
  readonly positions: Positions | undefined
}

/** The largest job file: what the server takes, which says so itself for anything smaller. */
const FILE_BYTES_MAX = 32 * 1024 * 1024

/** Reads a job file on this machine: HCL, its JSON form, or a job as the API has it. */
export async function readJobFile(invocation: Invocation, path: string): Promise<ReadJob> {
  const { host, flags } = invocation
  const text = await readText(invocation, path, JOB_FILE)
  const apiJob = findApiJob(text)
  if (apiJob !== undefined) {
    // The server holds every field of it to the contract, with texts that say what is wrong.
    const submission = { Source: text, Format: 'json' }
    return { job: withId(apiJob, path), submission, positions: undefined }
  }
  const name = path === '-' ? '<stdin>' : basename(path)
  const variableTexts = await readVariableFiles(invocation)
  // The language is large; commands that read no file start without it.
  const { describeProblems, parseText } = await import('./parse-text.ts')
  const isLegacy = flags.has('hcl1')
  const parsed = parseText({
    file: name,
    text,
    variableTexts,
    flags: flags.pairs('var'),
    environment: host.environment,
    strict: !flags.has('allow-unknown-vars'),
    files: fileAccess(path === '-' ? host.directory : dirname(resolve(host.directory, path)), host),
    nowMs: host.nowMs(),
    ...(host.jobFileAliases !== undefined && { aliases: host.jobFileAliases }),
    isLegacy,
  })
  const texts = new Map([{ file: name, text }, ...variableTexts].map((one) => [one.file, one.text]))
  if (!parsed.ok) {
    const files = new Set(parsed.error.map(({ range }) => range.file))
    const paths = [...files].map((file) => (file === name ? path : file))
    throw wrongFiles(paths, describeProblems(texts, parsed.error), {
      count: parsed.error.length,
      isJobFile: files.has(name),
    })
  }
  const { job, positions, warnings } = parsed.value
  if (warnings.length > 0) invocation.output.note(describeProblems(texts, warnings))
  const submission = {
    Source: text,
    Format: isLegacy ? 'hcl1' : 'hcl2',
    VariableFlags: flags.pairs('var'),
    Variables: variableTexts.map((one) => one.text).join('\n'),
  }
  return { job: withId(job, path), submission, positions }
}

function wrongFiles(
  paths: readonly string[],
  problems: string,
  { count, isJobFile }: { readonly count: number; readonly isJobFile: boolean },
): CommandFailure {
  const things = count === 1 ? 'One thing is' : `${count} things are`
  const where = paths.map(shownPath).join(' and ')
  const example = isJobFile ? ' "reeve job init" writes a file that is right.' : ''
  return new CommandFailure(`${things} wrong in ${where}:\n\n${problems}\n`, {
    hint: `Nothing was sent to the server.${example}`,
  })
}

function withId(job: ParsedJob, path: string): ReadJob['job'] {
  const { ID } = job
  if (typeof ID === 'string' && ID !== '') return { ...job, ID }
  throw new CommandFailure(`The job in ${shownPath(path)} has no ID.`)
}

function shownPath(path: string): string {
  return path === '-' ? 'standard input' : path
}

/** What is said of a file that cannot be read, by what it was to be. */
interface FileKind {
  readonly noun: string
  readonly missing: string
}

export const JOB_FILE: FileKind = {
  noun: 'job file',
  missing: '"reeve job init" writes a first job file; "-" reads standard input.',
}

const VARIABLE_FILE: FileKind = {
  noun: 'variable file',
  missing: '--var-file names a file with values of variables, such as: count = 3',
}

/** The text of a file, or of standard input for "-". */
export async function readText(
  invocation: Invocation,
  path: string,
  kind: FileKind,
): Promise<string> {
  const bytes = await fileBytes(invocation, path, {
    bytesMax: FILE_BYTES_MAX,
    unreadable: (thrown) => unreadable(path, kind, thrown),
    tooLong: () => new CommandFailure(`${path} is too large for a ${kind.noun}.`),
  })
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CommandFailure(`${shownPath(path)} is not text in UTF-8: is it a ${kind.noun}?`)
  }
}

/** A file that was named and cannot be read. */
function unreadable(path: string, kind: FileKind, thrown: unknown): CommandFailure {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  if (code === 'ENOENT') {
    return new CommandFailure(`There is no file ${path} here.`, {
      hint: kind.missing,
    })
  }
  if (code === 'EISDIR') {
    return new CommandFailure(`${path} is a directory.`, { hint: `Name a ${kind.noun} in it.` })
  }
  return new CommandFailure(`${path} cannot be read: ${errorMessage(thrown)}.`)
}

async function readVariableFiles(invocation: Invocation) {
  const paths = invocation.flags.texts('var-file')
  return await Promise.all(
    paths.map(async (path) => ({
      file: path,
      text: await readText(invocation, path, VARIABLE_FILE),
    })),
  )
}

/** The names that the API's job begins with; a job file in JSON has `job`, `variable`, `locals`. */
const API_NAMES = ['ID', 'TaskGroups'] as const

/** `{"Job": {…}}`, or the job itself; anything else is a job file. */
function findApiJob(text: string): ParsedJob | undefined {
  if (!isJson(text)) return undefined
  const read = parseJson(text)
  const isJob = API_NAMES.some((name) => memberOf(read, name) !== undefined)
  const job = memberOf(read, 'Job') ?? (isJob ? read : undefined)
  if (typeof job !== 'object' || job === null) return undefined
  return job
}

/** HCL never begins with a brace. */
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
