import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { CommandContext } from './command.ts'
import { CommandError, systemErrorReason } from './errors.ts'

interface Example {
  /** A path, or `-` for standard output. */
  readonly file: string
  readonly text: string
  /** The commands that use the file. */
  readonly next: readonly string[]
}

/** Writes an example file; an existing file is replaced only with `--force`. */
export async function writeExample(invocation: CommandContext, example: Example): Promise<void> {
  const { flags, host, output } = invocation
  const { file, text, next } = example
  if (file === '-') return host.out(text)
  try {
    await writeFile(resolve(host.directory, file), text, { flag: flags.has('force') ? 'w' : 'wx' })
  } catch (thrown) {
    throw describeWriteError(file, thrown)
  }
  output.printLine(`${file} written. ${formatNextSteps(next)}`)
}

/** Explains why a file was not written; an existing file is left to `--force`. */
export function describeWriteError(file: string, thrown: unknown): CommandError {
  const exists = thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST'
  if (!exists) return new CommandError(`${file} cannot be written: ${systemErrorReason(thrown)}.`)
  return new CommandError(`${file} already exists.`, {
    hint: 'Name another file, or use --force to overwrite it.',
  })
}

/** The commands to run next, one per line. */
export function formatNextSteps(lines: readonly string[]): string {
  return `Next:\n\n${lines.map((line) => `  ${line}\n`).join('')}`
}
