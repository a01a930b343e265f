import type { Allocation } from '@reeve/contract'
import { allocationDisabledReason, runningTasks } from '../../actions/allocation-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'

interface TaskControlsProps {
  readonly allocation: Allocation
  readonly task: string
}

/** Links and buttons for one task. */
export function TaskControls({ allocation, task }: TaskControlsProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const confirm = useConfirm()
  const { ID, Namespace: namespace } = allocation
  const disabledReason =
    allocationDisabledReason.restart(allocation, permissions) ??
    (runningTasks(allocation).includes(task) ? undefined : 'The task does not run.')
  const restart = async () => {
    const title = `Restart the task ${task}?`
    const body = 'Its process is restarted on the same node.'
    if (!(await confirm({ title, body, action: 'Restart the task' }))) return
    await callApi({
      call: (api) =>
        api.v1.restartAllocation({
          params: { alloc_id: ID },
          query: { namespace },
          body: { TaskName: task },
        }),
      successMessage: `${task} is restarting.`,
    })
  }
  return (
    <span className="row task-controls">
      <Link href={paths.allocation(ID, 'logs', task)}>
        Logs<span className="hidden"> of {task}</span>
      </Link>
      <Link href={paths.allocation(ID, 'terminal', task)}>
        Terminal<span className="hidden"> in {task}</span>
      </Link>
      <ActionButton disabledReason={disabledReason} onAction={restart}>
        Restart<span className="hidden"> {task}</span>
      </ActionButton>
    </span>
  )
}
