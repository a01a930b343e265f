import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { Invocation } from '../command.ts'
import { CommandFailure } from '../failure.ts'

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
    if (!(thrown instanceof Error) || !('code' in thrown) || thrown.code !== 'EEXIST') {
      throw new CommandFailure(`${file} cannot be written: ${errorMessage(thrown)}.`)
    }
    throw new CommandFailure(`${file} already exists.`, {
      hint: 'Name another file, or use --force to overwrite it.',
    })
  }
  output.say(`${file} written. Next:`)
  output.say(`\n${next.map((line) => `  ${line}\n`).join('')}`)
}
