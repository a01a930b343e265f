import type { Job, JobStatusRow } from '@reeve/contract'
import { Ago } from '../../parts/ago.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { dateOfNs } from '../../parts/time.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { isActive } from '../../actions/job-can.ts'
import { ChildrenPanel } from './children-panel.tsx'
import { DeploymentPanel } from './deployment-panel.tsx'
import { useJobDeployments, useJobStatus } from './job-data.ts'
import type { JobView } from './job-view.ts'
import { StatusPanel } from './status-panel.tsx'
import { WhyPanel } from './why-panel.tsx'

/** How the job is, at one look. */
export function OverviewTab({ job, name }: JobView) {
  const status = useJobStatus(name)
  return (
    <QueryView query={status} what="the state of the job">
      {(rows) => <Overview job={job} rows={rows} />}
    </QueryView>
  )
}

function Overview({ job, rows }: { readonly job: Job; readonly rows: readonly JobStatusRow[] }) {
  const name = { namespace: job.Namespace, id: job.ID }
  const { data: deployments } = useJobDeployments(name)
  const active = deployments?.find(isActive)
  const own = rows.find(({ ID }) => ID === job.ID)
  const isParent = job.Periodic !== null || (job.ParameterizedJob !== null && !job.Dispatched)
  return (
    <>
      {active !== undefined && (
        <DeploymentPanel deployment={active} title="Deployment in progress" />
      )}
      {!isParent && own !== undefined && <StatusPanel job={job} allocations={own.Allocs} />}
      {!isParent && own !== undefined && <WhyPanel job={job} row={own} />}
      {isParent && <ChildrenPanel job={job} />}
      <Panel title="About">
        <Facts facts={factsOf(job)} />
      </Panel>
    </>
  )
}

function factsOf(job: Job) {
  const links = job.UI?.Links ?? []
  return [
    { name: 'Id', value: <code>{job.ID}</code> },
    { name: 'Priority', value: job.Priority },
    { name: 'Datacenters', value: job.Datacenters.join(', ') },
    { name: 'Node pool', value: job.NodePool },
    { name: 'Submitted', value: <Ago date={dateOfNs(job.SubmitTime)} /> },
    {
      name: 'Version',
      value: (
        <Link
          href={paths.jobVersions(
            { namespace: job.Namespace, id: job.ID },
            { version: job.Version },
          )}
        >
          {job.Version}
          {job.Stable ? ' (stable)' : ''}
        </Link>
      ),
    },
    ...(job.Periodic === null
      ? []
      : [
          {
            name: 'Launched',
            value: `${[job.Periodic.Spec, ...(job.Periodic.Specs ?? [])].filter(Boolean).join('; ')} (${job.Periodic.TimeZone})`,
          },
        ]),
    ...Object.entries(job.Meta ?? {}).map(([name, value]) => ({ name: `Meta ${name}`, value })),
    ...links
      // Only what a browser opens as a page: the text comes from whoever wrote the job.
      .filter(({ URL: url }) => /^https?:\/\//.test(url))
      .map(({ Label, URL: url }) => ({
        name: 'Link',
        value: (
          <a href={url} rel="noreferrer noopener" target="_blank">
            {Label}
          </a>
        ),
      })),
  ]
}
