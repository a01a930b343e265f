export { LEASE, type LeaseSettings, type Leadership } from './lease.ts'
export { LeaseKeeper, type LeaseKeeperOptions } from './lease-keeper.ts'
export type { LeaseClaim, LeaseFound, LeaseHeld, LeaseStore } from './lease-store.ts'
