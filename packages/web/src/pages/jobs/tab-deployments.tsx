import { isActive } from '../../actions/job-can.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { DeploymentPanel } from './deployment-panel.tsx'
import { useJobDeployments } from './job-data.ts'
import type { JobView } from './job-view.ts'

/** The tab with the deployments of the job, newest first. */
export function DeploymentsTab({ name }: JobView) {
  const deployments = useJobDeployments(name)
  return (
    <QueryView query={deployments} what="the deployments">
      {(list) =>
        list.length === 0 ? (
          <EmptyState title="No deployments">
            <p>
              A service with an <code>update</code> block is rolled out step by step; each roll-out
              is a deployment.
            </p>
          </EmptyState>
        ) : (
          list
            .toSorted((a, b) => b.CreateIndex - a.CreateIndex)
            .map((deployment) => (
              <DeploymentPanel
                key={deployment.ID}
                deployment={deployment}
                title={`Version ${deployment.JobVersion}${isActive(deployment) ? ', in progress' : ''}`}
              />
            ))
        )
      }
    </QueryView>
  )
}
