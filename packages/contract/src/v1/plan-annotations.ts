import * as t from './shared-schemas.ts'
import { AllocationStub } from './allocation.ts'

export const DesiredUpdates = t.Object(
  {
    Ignore: t.Integer(),
    Place: t.Integer(),
    Migrate: t.Integer(),
    Stop: t.Integer(),
    InPlaceUpdate: t.Integer(),
    DestructiveUpdate: t.Integer(),
    Canary: t.Integer(),
    Preemptions: t.Integer(),
    Disconnect: t.Integer(),
    Reconnect: t.Integer(),
    RescheduleNow: t.Integer(),
    RescheduleLater: t.Integer(),
  },
  { $id: 'DesiredUpdates', description: 'Allocations of one group, by what happens to them.' },
)
export type DesiredUpdates = t.Infer<typeof DesiredUpdates>

export const PlanAnnotations = t.Named('PlanAnnotations', 'Changes that a plan would make.', {
  DesiredTGUpdates: t.MapOf(DesiredUpdates),
  PreemptedAllocs: t.Nullable(t.Array(AllocationStub)),
})
export type PlanAnnotations = t.Infer<typeof PlanAnnotations>
