import type { Deployment, DeploymentGroupState } from '@reeve/contract'
import { deploymentDisabledReason } from '../../permissions/job.ts'
import { useApiAction } from '../../data/api-action.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { Panel } from '../../components/page.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'

interface DeploymentPanelProps {
  readonly deployment: Deployment
  readonly title: string
}

/** Progress of a deployment by group, with buttons to promote, pause and fail it. */
export function DeploymentPanel({ deployment, title }: DeploymentPanelProps) {
  const { TaskGroups, Status, StatusDescription, ID, JobVersion } = deployment
  return (
    <Panel title={title} actions={<DeploymentActions deployment={deployment} />}>
      <div className="row legend">
        <StatusBadge state={Status} />
        <span>{StatusDescription}</span>
        <span className="quiet">
          version {JobVersion}, <Link href={paths.deployment(ID)}>{ID.slice(0, 8)}</Link>
        </span>
      </div>
      <div className="deployment-groups">
        {Object.entries(TaskGroups).map(([name, state]) => (
          <GroupProgress key={name} name={name} state={state} />
        ))}
      </div>
    </Panel>
  )
}

interface GroupProgressProps {
  readonly name: string
  readonly state: DeploymentGroupState
}

function GroupProgress({ name, state }: GroupProgressProps) {
  const { DesiredTotal, HealthyAllocs, UnhealthyAllocs, PlacedAllocs, DesiredCanaries, Promoted } =
    state
  const isCanaryPhase = DesiredCanaries > 0 && !Promoted
  const total = isCanaryPhase ? DesiredCanaries : DesiredTotal
  const pendingHealth = Math.max(0, PlacedAllocs - HealthyAllocs - UnhealthyAllocs)
  const unplaced = Math.max(0, total - PlacedAllocs)
  const summary = [
    `${HealthyAllocs} of ${total} ${isCanaryPhase ? 'canaries ' : ''}healthy`,
    ...(pendingHealth > 0 ? [`${pendingHealth} placed`] : []),
    ...(UnhealthyAllocs > 0 ? [`${UnhealthyAllocs} unhealthy`] : []),
  ].join(', ')
  return (
    <div>
      <div className="row">
        <b>{name}</b>
        <span className="quiet">{summary}</span>
        {isCanaryPhase && <StatusBadge state="pending" text="awaiting promotion" />}
      </div>
      <div className="progress" role="img" aria-label={`${name}: ${summary}`}>
        <span className="tone-good" style={{ flexGrow: HealthyAllocs }} />
        <span className="tone-bad" style={{ flexGrow: UnhealthyAllocs }} />
        <span className="tone-busy" style={{ flexGrow: pendingHealth }} />
        <span style={{ flexGrow: unplaced, background: 'none' }} />
      </div>
    </div>
  )
}

function DeploymentActions({ deployment }: { readonly deployment: Deployment }) {
  const { permissions } = useSession()
  const actions = useDeploymentActions(deployment)
  const isPaused = deployment.Status === 'paused'
  return (
    <>
      <ActionButton
        kind="primary"
        disabledReason={deploymentDisabledReason.promote(deployment, permissions)}
        onAction={actions.promote}
      >
        Promote
      </ActionButton>
      <ActionButton
        disabledReason={deploymentDisabledReason.pause(deployment, permissions)}
        onAction={actions.pause}
      >
        {isPaused ? 'Resume' : 'Pause'}
      </ActionButton>
      <ActionButton
        kind="danger"
        disabledReason={deploymentDisabledReason.fail(deployment, permissions)}
        onAction={actions.fail}
      >
        Fail…
      </ActionButton>
    </>
  )
}

function useDeploymentActions({ ID, Namespace, Status }: Deployment) {
  const callApi = useApiAction()
  const confirm = useConfirm()
  const params = { deployment_id: ID }
  const query = { namespace: Namespace }
  return {
    promote: async () => {
      const body = { DeploymentID: ID, All: true }
      await callApi({
        call: (api) => api.v1.promoteDeployment({ params, query, body }),
        successMessage: 'The canaries are promoted: the rollout continues.',
      })
    },
    pause: async () => {
      const Pause = Status !== 'paused'
      await callApi({
        call: (api) => api.v1.pauseDeployment({ params, query, body: { DeploymentID: ID, Pause } }),
        successMessage: Pause ? 'The deployment is paused.' : 'The deployment is resumed.',
      })
    },
    fail: async () => {
      const isConfirmed = await confirm({
        title: 'Fail the deployment?',
        body: 'The rollout stops. With auto-revert, the job reverts to the last stable version.',
        action: 'Fail the deployment',
        isDangerous: true,
      })
      if (!isConfirmed) return
      await callApi({
        call: (api) => api.v1.failDeployment({ params, query }),
        successMessage: 'The deployment is failed.',
      })
    },
  }
}
