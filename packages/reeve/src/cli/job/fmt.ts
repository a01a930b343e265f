import { readdir, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { formatDiagnostics, formatSource } from '@reeve/hcl'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { reasonOf } from '../reason.ts'
import { isJson, JOB_FILE, readText } from '../job-file/read-job-file.ts'

/** Files of a directory that are formatted; any file may be named. */
const SUFFIXES = ['.hcl', '.reeve']

/** `job fmt`: job files in the canonical style. */
export async function runJobFmt(invocation: Invocation): Promise<number> {
  const { args, flags, host, output } = invocation
  if (args.includes('-')) return await formatInput(invocation)
  const check = flags.has('check')
  let changed = 0
  for (const path of await filesOf(invocation, args.length === 0 ? ['.'] : args)) {
    const text = await readText(invocation, path, JOB_FILE)
    const formatted = formattedText(path, text)
    if (formatted === text) continue
    changed++
    if (!flags.isOff('list')) output.say(path)
    if (check || flags.isOff('write')) continue
    await writeFile(resolve(host.directory, path), formatted).catch((thrown: unknown) => {
      throw new CommandFailure(`${path} cannot be written: ${reasonOf(thrown)}.`)
    })
  }
  return check && changed > 0 ? EXIT_CODES.failed : EXIT_CODES.ok
}

/** Standard input to standard output, for editors. */
async function formatInput(invocation: Invocation): Promise<number> {
  const { args, flags, host } = invocation
  if (args.length > 1) throw new UsageError('"-" is standard input: name no other file with it.')
  const text = await readText(invocation, '-', JOB_FILE)
  const formatted = formattedText('-', text)
  if (flags.has('check')) return formatted === text ? EXIT_CODES.ok : EXIT_CODES.failed
  host.out(formatted)
  return EXIT_CODES.ok
}

function formattedText(path: string, text: string): string {
  const shown = path === '-' ? '<stdin>' : path
  if (isJson(text)) throw new CommandFailure(`${shown} is JSON: only HCL is formatted.`)
  const formatted = formatSource(text, path === '-' ? shown : basename(path))
  if (formatted.ok) return formatted.value
  throw new CommandFailure(
    `${shown} cannot be formatted:\n\n${formatDiagnostics(text, formatted.error)}`,
  )
}

/** The named files, and those of the named directories. */
async function filesOf(
  { flags, host }: Invocation,
  paths: readonly string[],
): Promise<readonly string[]> {
  const files: string[] = []
  for (const path of paths) {
    const place = resolve(host.directory, path)
    const found = await stat(place).catch(() => undefined)
    if (found?.isDirectory() !== true) {
      files.push(path)
      continue
    }
    const names = await readdir(place, { recursive: flags.has('recursive') })
    const wanted = names.filter((name) => SUFFIXES.some((suffix) => name.endsWith(suffix)))
    files.push(...wanted.toSorted().map((name) => join(path, name)))
  }
  return files
}
