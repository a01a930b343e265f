import { spawn } from 'node:child_process'
import type { ExecRequest, ExecSession } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { ChildExecSession } from '../session/child-session.ts'
import { findCommand } from './command.ts'
import type { LaunchRecord } from './saved-launch.ts'

interface ShellExecOptions {
  readonly launch: LaunchRecord
  readonly clock: Clock
}

/**
 * Runs a command as the task runs, without a terminal: nothing but the native helper can make one.
 * It carries the marks of the task in its environment, so it is ended with it.
 */
export async function execInShellTask(
  request: ExecRequest,
  { launch, clock }: ShellExecOptions,
): Promise<ExecSession> {
  const [program, ...args] = request.command
  if (program === undefined || program === '') {
    throw new Fault('task-config', 'the command is empty')
  }
  if (request.tty !== undefined) {
    throw new Fault('task-config', 'this node cannot make terminals: its native helper is missing')
  }
  const { env, taskDir, cwd, user } = launch
  const path = env['PATH'] ?? ''
  const file = await findCommand(program, { taskDir, path }).catch((thrown: unknown) => {
    throw new Fault('task-config', errorMessage(thrown), { cause: thrown })
  })
  const { promise, resolve, reject } = Promise.withResolvers<ExecSession>()
  const child = spawn(file, args, {
    argv0: program,
    cwd,
    env: { ...env },
    detached: true,
    stdio: 'pipe',
    ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
  })
  const session = new ChildExecSession({ child, clock, resize: () => undefined })
  child.once('spawn', () => resolve(session))
  child.once('error', (error) => {
    reject(new Fault('task-config', `the command cannot be started: ${errorMessage(error)}`))
  })
  return promise
}
