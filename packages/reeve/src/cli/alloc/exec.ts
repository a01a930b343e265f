import type { CommandContext } from '../command.ts'
import { UsageError } from '../failure.ts'
import { allocationRequest, resolveAllocation, resolveTask } from './find-allocation.ts'
import { attachSession } from './session.ts'

/** `alloc exec`: runs a command in a task and exits with its exit code. */
export async function runAllocExec(invocation: CommandContext): Promise<number> {
  const { args, client, flags, signal } = invocation
  const command = flags.string('job') === undefined ? args.slice(1) : args
  const allocation = await resolveAllocation(invocation, args[0])
  const task = resolveTask(allocation, flags.string('task'))
  if (command.length === 0) {
    throw new UsageError('say which command to run, as in "reeve alloc exec <ALLOC> /bin/sh".')
  }
  const { params, query } = allocationRequest(allocation)
  const request = { allocId: params.alloc_id, namespace: query.namespace, task, command, signal }
  return await attachSession(invocation, (tty) => client.exec({ ...request, tty }))
}
