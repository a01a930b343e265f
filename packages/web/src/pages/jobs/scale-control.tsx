import type { Job, TaskGroup } from '@reeve/contract'
import { useState } from 'react'
import { jobDisabledReason } from '../../actions/job-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { useSession } from '../../session/session.tsx'

interface ScaleControlProps {
  readonly job: Job
  readonly group: TaskGroup
}

const COUNT_MAX = 1_000_000

export function ScaleControl({ job, group }: ScaleControlProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const [typed, setTyped] = useState<string>()
  const count = typed === undefined ? group.Count : parseCount(typed)
  const isChanged =
    Number.isInteger(count) && count >= 0 && count <= COUNT_MAX && count !== group.Count
  const disabledReason =
    jobDisabledReason.scale(job, permissions) ??
    (isChanged ? undefined : 'Type another number first.')
  const scale = async () => {
    await callApi({
      call: (api) =>
        api.v1.scaleJob({
          params: { job_id: job.ID },
          query: { namespace: job.Namespace },
          body: { Count: count, Target: { Group: group.Name }, Message: 'scaled in the web UI' },
        }),
      successMessage: `${group.Name} is scaled to ${count}.`,
    })
    setTyped(undefined)
  }
  return (
    <form className="row" onSubmit={(event) => event.preventDefault()}>
      <input
        type="number"
        min={0}
        max={COUNT_MAX}
        className="count-input"
        aria-label={`Count of the group ${group.Name}`}
        value={typed ?? group.Count}
        onChange={(event) => setTyped(event.target.value)}
      />
      <ActionButton disabledReason={disabledReason} onAction={scale} isSubmit>
        Scale
      </ActionButton>
    </form>
  )
}

/** Parses a count; an empty field is not 0. */
function parseCount(typed: string): number {
  return typed.trim() === '' ? Number.NaN : Number(typed)
}
