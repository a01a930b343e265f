export type { Plan } from './plan.ts'
export { schedule } from './schedule.ts'
export type { ClusterView, PlacementSettings, SchedulingContext } from './view.ts'
