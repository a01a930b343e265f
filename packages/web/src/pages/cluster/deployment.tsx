import type { Deployment } from '@reeve/contract'
import { useApiQuery } from '../../data/api-query.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { CliAndApiPanel } from '../../components/command-line.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { DescriptionList, PageHeader, Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { dateFromNs, dateFromText } from '../../format.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import type { PageProps } from '../../routing/route.ts'
import '../../style/jobs.css'
import { allocationColumns } from '../allocations/allocation-columns.tsx'
import { DeploymentPanel } from '../jobs/deployment-panel.tsx'

/** A deployment with its progress and its allocations. */
export function DeploymentPage({ params }: PageProps<'/deployments/:deploymentId'>) {
  const id = params.deploymentId
  const query = useApiQuery(
    ['deployment', id],
    (api, signal) => api.v1.readDeployment({ params: { deployment_id: id }, signal }),
    { watches: [{ topic: 'Deployment', key: id }] },
  )
  return (
    <QueryView
      query={query}
      what="the deployment"
      page={{
        title: `Deployment ${id.slice(0, 8)}`,
        crumbs: [{ text: 'Deployments', href: paths.deployments() }],
      }}
    >
      {(deployment) => (
        <>
          <DeploymentHead deployment={deployment} />
          <DeploymentPanel deployment={deployment} title="Progress" />
          <Panel title="Rules">
            <DescriptionList facts={deploymentFacts(deployment)} />
          </Panel>
          <Allocations id={id} />
          <CliAndApiPanel
            cli={`reeve deployment status ${id}`}
            call={{ path: `/v1/deployment/${id}` }}
          />
        </>
      )}
    </QueryView>
  )
}

function DeploymentHead({ deployment }: { readonly deployment: Deployment }) {
  const { ID, JobID, JobVersion, Namespace: namespace, Status } = deployment
  return (
    <PageHeader
      title={`Deployment ${ID.slice(0, 8)}`}
      crumbs={[
        { text: 'Deployments', href: paths.deployments({ namespace }) },
        { text: JobID, href: paths.job({ namespace, id: JobID }, 'deployments') },
      ]}
      aside={
        <>
          <StatusBadge state={Status} />
          <Link
            className="tag"
            href={paths.jobVersions({ namespace, id: JobID }, { version: JobVersion })}
          >
            version {JobVersion}
          </Link>
          <span className="tag">namespace {namespace}</span>
        </>
      }
    />
  )
}

function deploymentFacts({ TaskGroups, CreateTime }: Deployment) {
  return [
    { name: 'Created', value: <RelativeTime date={dateFromNs(CreateTime)} /> },
    ...Object.entries(TaskGroups).flatMap(([name, group]) => [
      { name: `${name}: auto-revert`, value: group.AutoRevert ? 'yes' : 'no' },
      { name: `${name}: auto-promote`, value: group.AutoPromote ? 'yes' : 'no' },
      {
        name: `${name}: progress by`,
        value: dateFromText(group.RequireProgressBy)?.toISOString() ?? '–',
      },
    ]),
  ]
}

function Allocations({ id }: { readonly id: string }) {
  const allocations = useApiQuery(
    ['deployment-allocations', id],
    (api, signal) => api.v1.listDeploymentAllocations({ params: { deployment_id: id }, signal }),
    { watches: [{ topic: 'Allocation', key: id }] },
  )
  return (
    <Panel title="Allocations" isFlush>
      <QueryView query={allocations} what="the allocations">
        {(list) => (
          <DataTable
            label="Allocations"
            columns={allocationColumns.ofDeployment}
            rows={list.toSorted((a, b) => b.CreateIndex - a.CreateIndex)}
            keyOf={({ ID }) => ID}
            hrefOf={({ ID }) => paths.allocation(ID)}
            empty={
              <EmptyState title="No allocations yet">
                <p>Allocations of the new version will appear here.</p>
              </EmptyState>
            }
          />
        )}
      </QueryView>
    </Panel>
  )
}
