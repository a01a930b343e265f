import type { Deployment } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { resetProgressDeadline } from './deadline.ts'
import { DEPLOYMENT_DESCRIPTIONS, runningDescription } from './deployment-status.ts'
import { withGroupStates } from './new-deployment.ts'

export function pauseDeployment(deployment: Deployment, timeMs: number): Deployment {
  return {
    ...deployment,
    Status: 'paused',
    StatusDescription: DEPLOYMENT_DESCRIPTIONS.paused,
    ModifyTime: nsFromMs(timeMs),
  }
}

/** Resumes a deployment; the pause does not count against progress deadlines. */
export function resumeDeployment(deployment: Deployment, timeMs: number): Deployment {
  const states = Object.entries(deployment.TaskGroups).map(
    ([group, state]) => [group, resetProgressDeadline(state, timeMs)] as const,
  )
  return {
    ...withGroupStates(deployment, new Map(states)),
    Status: 'running',
    StatusDescription: runningDescription(deployment),
    ModifyTime: nsFromMs(timeMs),
  }
}
