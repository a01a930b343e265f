import type { Job, JobQuarantine } from '@reeve/contract'
import { jobDisabledReason } from '../../actions/job-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { RelativeTime } from '../../parts/ago.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { DescriptionList, Panel } from '../../parts/panel.tsx'
import { dateFromNs } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'

interface QuarantinePanelProps {
  readonly job: Job
  readonly quarantine: JobQuarantine
}

/** Explains why a quarantined job is not placed, with a button to release it. */
export function QuarantinePanel({ job, quarantine }: QuarantinePanelProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const confirm = useConfirm()
  const release = async () => {
    const title = `Release ${job.Name}?`
    const body = 'It is placed again. If it was the cause, it takes more nodes down.'
    if (!(await confirm({ title, body, action: 'Release the job', isDangerous: true }))) return
    const request = { params: { job_id: job.ID }, query: { namespace: job.Namespace } }
    await callApi({
      call: (api) => api.v1.releaseJob(request),
      successMessage: 'The job is released.',
    })
  }
  return (
    <Panel
      title="Quarantined"
      actions={
        <ActionButton
          disabledReason={jobDisabledReason.release(job, permissions)}
          onAction={release}
        >
          Release…
        </ActionButton>
      }
    >
      <p className="note tone-warn">
        {quarantine.Reason}. No allocation of it is placed until a new version is registered or the
        job is released.
      </p>
      <DescriptionList facts={quarantineFacts(quarantine)} />
    </Panel>
  )
}

function quarantineFacts({ Version, Time, NodeIDs }: JobQuarantine) {
  return [
    { name: 'Since', value: <RelativeTime date={dateFromNs(Time)} /> },
    { name: 'Quarantined version', value: Version },
    ...NodeIDs.map((id, index) => ({
      name: `Lost node ${index + 1}`,
      value: (
        <Link href={paths.node(id)}>
          <code>{id}</code>
        </Link>
      ),
    })),
  ]
}
