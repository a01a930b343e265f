import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Invocation } from '../command.ts'
import { CommandFailure } from '../failure.ts'
import { reasonOf } from '../reason.ts'

interface Example {
  /** A path, or `-` for standard output. */
  readonly file: string
  readonly text: string
  /** The commands that use the file. */
  readonly next: readonly string[]
}

/** Writes an example file; an existing file is replaced only with `--force`. */
export async function writeExample(invocation: Invocation, example: Example): Promise<void> {
  const { flags, host, output } = invocation
  const { file, text, next } = example
  if (file === '-') return host.out(text)
  try {
    await writeFile(resolve(host.directory, file), text, { flag: flags.has('force') ? 'w' : 'wx' })
  } catch (thrown) {
    throw unwritable(file, thrown)
  }
  output.say(`${file} written. ${nextSteps(next)}`)
}

/** Explains why a file was not written; an existing file is left to `--force`. */
export function unwritable(file: string, thrown: unknown): CommandFailure {
  const exists = thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST'
  if (!exists) return new CommandFailure(`${file} cannot be written: ${reasonOf(thrown)}.`)
  return new CommandFailure(`${file} already exists.`, {
    hint: 'Name another file, or use --force to overwrite it.',
  })
}

/** The commands to run next, one per line. */
export function nextSteps(lines: readonly string[]): string {
  return `Next:\n\n${lines.map((line) => `  ${line}\n`).join('')}`
}
