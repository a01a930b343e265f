import { Fault } from '@reeve/kit/fault.ts'
import { runProgram } from '../run-program.ts'

/** Runs a program and returns its output; Fault `network` with its error output. */
export type RunNetworkCommand = (
  program: string,
  args: readonly string[],
  input?: string,
) => Promise<string>

export const runNetworkCommand: RunNetworkCommand = async (program, args, input = '') => {
  const { failure, stdout, stderr } = await runProgram(program, args, { input })
  if (failure !== undefined) throw new Fault('network', `${program}: ${stderr || failure}`)
  return stdout
}
