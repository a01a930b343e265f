import type { Job, JobQuarantine } from '@reeve/contract'
import { jobCan } from '../../actions/job-can.ts'
import { useAct } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Ago } from '../../parts/ago.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { dateOfNs } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'

interface QuarantinePanelProps {
  readonly job: Job
  readonly quarantine: JobQuarantine
}

/** Why a job is not placed any more, and the ways out. */
export function QuarantinePanel({ job, quarantine }: QuarantinePanelProps) {
  const { rights } = useSession()
  const act = useAct()
  const confirm = useConfirm()
  const release = async () => {
    const title = `Release ${job.Name}?`
    const body = 'It is placed again. If it was the cause, it takes more nodes down.'
    if (!(await confirm({ title, body, action: 'Release the job', isDangerous: true }))) return
    const at = { params: { job_id: job.ID }, query: { namespace: job.Namespace } }
    await act({ call: (api) => api.v1.releaseJob(at), done: 'The job is released.' })
  }
  return (
    <Panel
      title="Quarantined"
      actions={
        <ActionButton refusal={jobCan.release(job, rights)} onAct={release}>
          Release…
        </ActionButton>
      }
    >
      <p className="note tone-warn">
        {quarantine.Reason}. No allocation of it is placed until a new version is registered or the
        job is released.
      </p>
      <Facts facts={factsOf(quarantine)} />
    </Panel>
  )
}

function factsOf({ Version, Time, NodeIDs }: JobQuarantine) {
  return [
    { name: 'Since', value: <Ago date={dateOfNs(Time)} /> },
    { name: 'Quarantined version', value: Version },
    ...NodeIDs.map((id, at) => ({
      name: `Lost node ${at + 1}`,
      value: (
        <Link href={paths.node(id)}>
          <code>{id}</code>
        </Link>
      ),
    })),
  ]
}
