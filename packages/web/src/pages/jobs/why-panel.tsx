import type { Job } from '@reeve/contract'
import { Panel } from '../../parts/panel.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useApiQuery } from '../../data/use-read.ts'

interface PlacementFailurePanelProps {
  readonly job: Job
  /** Number of running and pending allocations. */
  readonly liveCount: number
}

/** A summary of the placement failures, with a link to the details. */
export function PlacementFailurePanel({ job, liveCount }: PlacementFailurePanelProps) {
  const { Namespace: namespace, ID: id } = job
  const desired = job.TaskGroups.reduce((sum, { Count }) => sum + Count, 0)
  const hasUnplaced = !job.Stop && job.Status !== 'dead' && liveCount < desired
  const { data } = useApiQuery(
    ['job-explain', namespace, id],
    (api, signal) => api.v1.explainJob({ params: { job_id: id }, query: { namespace }, signal }),
    { enabled: hasUnplaced, watches: [{ topic: 'Evaluation', namespace, key: id }] },
  )
  if (!hasUnplaced || data === undefined || data.Groups.length === 0) return null
  return (
    <Panel
      title="Failed placements"
      actions={<Link href={paths.job({ namespace, id }, 'explain')}>Details</Link>}
    >
      <p className="note tone-warn">{data.Text}</p>
    </Panel>
  )
}
