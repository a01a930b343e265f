import type { Job } from '@reeve/contract'
import { Panel } from '../../parts/panel.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useRead } from '../../data/use-read.ts'

interface WhyPanelProps {
  readonly job: Job
  /** Allocations that run or are about to. */
  readonly alive: number
}

/** Why not everything runs, in one sentence, with the way to the whole of it. */
export function WhyPanel({ job, alive }: WhyPanelProps) {
  const { Namespace: namespace, ID: id } = job
  const wanted = job.TaskGroups.reduce((sum, { Count }) => sum + Count, 0)
  const isMissing = !job.Stop && job.Status !== 'dead' && alive < wanted
  const { data } = useRead(
    ['job-explain', namespace, id],
    (api, signal) => api.v1.explainJob({ params: { job_id: id }, query: { namespace }, signal }),
    { enabled: isMissing, watches: [{ topic: 'Evaluation', namespace, key: id }] },
  )
  if (!isMissing || data === undefined || data.Groups.length === 0) return null
  return (
    <Panel
      title="Failed placements"
      actions={<Link href={paths.job({ namespace, id }, 'explain')}>Details</Link>}
    >
      <p className="note tone-warn">{data.Text}</p>
    </Panel>
  )
}
