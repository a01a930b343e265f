import { spawn } from 'node:child_process'
import { Fault, messageOf } from '../../kit/fault.ts'

/** Runs a program of the machine and returns its output; Fault `network` with its complaint. */
export type RunCommand = (
  program: string,
  args: readonly string[],
  input?: string,
) => Promise<string>

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const COMMAND_MS_MAX = 10_000
/** A listing of every chain of the packet filter is some ten kilobytes on a busy machine. */
const OUTPUT_CHARS_MAX = 1024 * 1024
const COMPLAINT_CHARS_MAX = 2_048

export const runCommand: RunCommand = async (program, args, input = '') => {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const child = spawn(program, args, {
    env: { PATH },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: COMMAND_MS_MAX,
    killSignal: 'SIGKILL',
  })
  let output = ''
  let complaint = ''
  child.stdout.on('data', (piece: Buffer) => {
    output = `${output}${piece.toString('utf8')}`.slice(0, OUTPUT_CHARS_MAX)
  })
  child.stderr.on('data', (piece: Buffer) => {
    complaint = `${complaint}${piece.toString('utf8')}`.slice(0, COMPLAINT_CHARS_MAX)
  })
  // A program that ends without reading says why by its end.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  child.on('error', (thrown) => resolve(messageOf(thrown)))
  child.on('close', (code) => {
    resolve(code === 0 ? undefined : complaint.trim() || `ended with ${code ?? 'a signal'}`)
  })
  const failed = await promise
  if (failed !== undefined) throw new Fault('network', `${program}: ${failed}`)
  return output
}
