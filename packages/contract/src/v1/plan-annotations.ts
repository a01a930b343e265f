import { Type } from 'typebox'
import { Named, MapOf, Nullable, type Infer } from '../schema.ts'
import { AllocationStub } from './allocation.ts'

export const DesiredUpdates = Type.Object(
  {
    Ignore: Type.Integer(),
    Place: Type.Integer(),
    Migrate: Type.Integer(),
    Stop: Type.Integer(),
    InPlaceUpdate: Type.Integer(),
    DestructiveUpdate: Type.Integer(),
    Canary: Type.Integer(),
    Preemptions: Type.Integer(),
    Disconnect: Type.Integer(),
    Reconnect: Type.Integer(),
    RescheduleNow: Type.Integer(),
    RescheduleLater: Type.Integer(),
  },
  { $id: 'DesiredUpdates', description: 'Allocations of one group, by what happens to them.' },
)
export type DesiredUpdates = Infer<typeof DesiredUpdates>

export const PlanAnnotations = Named('PlanAnnotations', 'Changes that a plan would make.', {
  DesiredTGUpdates: MapOf(DesiredUpdates),
  PreemptedAllocs: Nullable(Type.Array(AllocationStub)),
})
export type PlanAnnotations = Infer<typeof PlanAnnotations>
