import type { Invocation } from '../command.ts'
import { UsageError } from '../failure.ts'
import { callFor, chosenAllocation, chosenTask } from './find-allocation.ts'
import { runSession } from './session.ts'

/** Runs a command in a task; its exit code becomes ours. */
export async function runAllocExec(invocation: Invocation): Promise<number> {
  const { args, client, flags, signal } = invocation
  const command = flags.text('job') === undefined ? args.slice(1) : args
  const allocation = await chosenAllocation(invocation, args[0])
  const task = chosenTask(allocation, flags.text('task'))
  if (command.length === 0) {
    throw new UsageError('say which command to run, as in "reeve alloc exec <ALLOC> /bin/sh".')
  }
  const { params, query } = callFor(allocation)
  const request = { allocId: params.alloc_id, namespace: query.namespace, task, command, signal }
  return await runSession(invocation, (tty) => client.exec({ ...request, tty }))
}
