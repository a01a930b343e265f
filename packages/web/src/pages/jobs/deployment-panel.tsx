import type { Deployment, DeploymentGroupState } from '@reeve/contract'
import { deploymentCan } from '../../actions/job-can.ts'
import { useAct } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { useSession } from '../../session/session.tsx'

interface DeploymentPanelProps {
  readonly deployment: Deployment
  readonly title: string
}

/** How far the roll-out is, group by group, and what may be done about it. */
export function DeploymentPanel({ deployment, title }: DeploymentPanelProps) {
  const { TaskGroups, Status, StatusDescription, ID, JobVersion } = deployment
  return (
    <Panel title={title} actions={<DeploymentActions deployment={deployment} />}>
      <div className="row legend">
        <StateBadge state={Status} />
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
  const isTrial = DesiredCanaries > 0 && !Promoted
  const total = isTrial ? DesiredCanaries : DesiredTotal
  const waiting = Math.max(0, PlacedAllocs - HealthyAllocs - UnhealthyAllocs)
  const missing = Math.max(0, total - PlacedAllocs)
  const words = [
    `${HealthyAllocs} of ${total} ${isTrial ? 'canaries ' : ''}healthy`,
    ...(waiting > 0 ? [`${waiting} placed`] : []),
    ...(UnhealthyAllocs > 0 ? [`${UnhealthyAllocs} unhealthy`] : []),
  ].join(', ')
  return (
    <div>
      <div className="row">
        <b>{name}</b>
        <span className="quiet">{words}</span>
        {isTrial && <StateBadge state="pending" text="waits for promotion" />}
      </div>
      <div className="progress" role="img" aria-label={`${name}: ${words}`}>
        <span className="tone-good" style={{ flexGrow: HealthyAllocs }} />
        <span className="tone-bad" style={{ flexGrow: UnhealthyAllocs }} />
        <span className="tone-busy" style={{ flexGrow: waiting }} />
        <span style={{ flexGrow: missing, background: 'none' }} />
      </div>
    </div>
  )
}

function DeploymentActions({ deployment }: { readonly deployment: Deployment }) {
  const { rights } = useSession()
  const does = useDeploymentDeeds(deployment)
  const isPaused = deployment.Status === 'paused'
  return (
    <>
      <ActionButton
        kind="primary"
        refusal={deploymentCan.promote(deployment, rights)}
        onAct={does.promote}
      >
        Promote
      </ActionButton>
      <ActionButton refusal={deploymentCan.pause(deployment, rights)} onAct={does.pause}>
        {isPaused ? 'Resume' : 'Pause'}
      </ActionButton>
      <ActionButton
        kind="danger"
        refusal={deploymentCan.fail(deployment, rights)}
        onAct={does.fail}
      >
        Fail…
      </ActionButton>
    </>
  )
}

function useDeploymentDeeds({ ID, Namespace, Status }: Deployment) {
  const act = useAct()
  const confirm = useConfirm()
  const params = { deployment_id: ID }
  const query = { namespace: Namespace }
  return {
    promote: async () => {
      const body = { DeploymentID: ID, All: true }
      await act({
        call: (api) => api.v1.promoteDeployment({ params, query, body }),
        done: 'The canaries are promoted: the roll-out goes on.',
      })
    },
    pause: async () => {
      const Pause = Status !== 'paused'
      await act({
        call: (api) => api.v1.pauseDeployment({ params, query, body: { DeploymentID: ID, Pause } }),
        done: Pause ? 'The deployment is paused.' : 'The deployment goes on.',
      })
    },
    fail: async () => {
      const isSure = await confirm({
        title: 'Fail the deployment?',
        body: 'The roll-out stops. With auto-revert the last stable version comes back.',
        action: 'Fail the deployment',
        isDangerous: true,
      })
      if (!isSure) return
      await act({
        call: (api) => api.v1.failDeployment({ params, query }),
        done: 'The deployment is failed.',
      })
    },
  }
}
