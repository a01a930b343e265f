import { spawn } from 'node:child_process'
import { Fault, messageOf } from '../../kit/fault.ts'

/** Runs a program of the machine with an input; Fault `network` with what it complained of. */
export type RunCommand = (program: string, args: readonly string[], input?: string) => Promise<void>

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const COMMAND_MS_MAX = 10_000

export const runCommand: RunCommand = async (program, args, input = '') => {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const child = spawn(program, args, {
    env: { PATH },
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: COMMAND_MS_MAX,
    killSignal: 'SIGKILL',
  })
  let complaint = ''
  child.stderr.on('data', (piece: Buffer) => {
    complaint = `${complaint}${piece.toString('utf8')}`.slice(0, 2_048)
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
}
