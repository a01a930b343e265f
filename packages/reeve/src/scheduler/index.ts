export {
  explainGroupSteps,
  type ExplainOptions,
  type InstanceStatus,
  toExplanation,
} from './explain/explain-group.ts'
export { changeText } from './explain/remedies.ts'
export type { Plan } from './plan.ts'
export { reconnectDeadlineMs, STOP_DESCRIPTIONS } from './reconcile/allocation-state.ts'
export { hasRescheduleAttemptsLeft, isReschedulingEnabled } from './reconcile/reschedule.ts'
export { schedule, scheduleSteps } from './schedule.ts'
export type { ClusterView, PlacementSettings, SchedulingContext } from './cluster-view.ts'
export { type NodeVolumeUsage, placeVolume, volumeNodeCheck } from './place-volume.ts'
