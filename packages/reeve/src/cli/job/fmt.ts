import { readdir, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { formatDiagnostics, formatSource } from '@reeve/hcl'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, systemErrorReason, UsageError } from '../errors.ts'
import { isJson, JOB_FILE, readText } from '../job-file/read-job-file.ts'

/** File suffixes that are formatted in directories; any file may be named explicitly. */
const SUFFIXES = ['.hcl', '.reeve']

/** `job fmt`: formats job files in the canonical style. */
export async function runJobFmt(invocation: CommandContext): Promise<number> {
  const { args, flags, host, output } = invocation
  if (args.includes('-')) return await formatInput(invocation)
  const check = flags.has('check')
  let changed = 0
  for (const path of await filesOf(invocation, args.length === 0 ? ['.'] : args)) {
    const text = await readText(invocation, path, JOB_FILE)
    const formatted = formattedText(path, text)
    if (formatted === text) continue
    changed++
    if (!flags.isNegated('list')) output.printLine(path)
    if (check || flags.isNegated('write')) continue
    await writeFile(resolve(host.directory, path), formatted).catch((thrown: unknown) => {
      throw new CommandError(`${path} cannot be written: ${systemErrorReason(thrown)}.`)
    })
  }
  return check && changed > 0 ? EXIT_CODES.failed : EXIT_CODES.ok
}

/** Formats standard input to standard output, for editors. */
async function formatInput(invocation: CommandContext): Promise<number> {
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
  if (isJson(text)) throw new CommandError(`${shown} is JSON: only HCL is formatted.`)
  const formatted = formatSource(text, path === '-' ? shown : basename(path))
  if (formatted.ok) return formatted.value
  throw new CommandError(
    `${shown} cannot be formatted:\n\n${formatDiagnostics(text, formatted.error)}`,
  )
}

/** Returns the named files and the job files in the named directories. */
async function filesOf(
  { flags, host }: CommandContext,
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
