export { hostOf, policyLookup, requireAllowed } from './artifact/address-policy.ts'
export { readTar } from './artifact/tar.ts'
export { unpack, UnpackBudget } from './artifact/unpack.ts'
export { canDial, websocketDial } from './dial-websocket.ts'
export { DRIVER_AWAY } from './driver.ts'
export type {
  DriverAddress,
  DriverContext,
  DriverHealth,
  NodeTasks,
  ReconcilingDriver,
  Reconciliation,
  Recovery,
  RunningTask,
  StopRequest,
  SweepingDriver,
  TaskDriver,
  TaskExit,
  TaskIsolation,
} from './driver.ts'
export { fingerprint, type Fingerprint } from './fingerprint.ts'
export { channelPair, type Channel, type Dial } from './link/channel.ts'
export type { Log } from './log.ts'
export { TAR_END, tarHeader } from './migrate/tar-writer.ts'
export { BridgeNetwork } from './network/bridge-network.ts'
export { bridgeSettings } from './network/bridge-rules.ts'
export { CniNetworks } from './network/cni/cni-networks.ts'
export { readHostData } from './remote/host-data.ts'
export { NodeNetworks } from './network/node-networks.ts'
export { NodeAgent } from './node-agent.ts'
export type { NodeSettings } from './node-description.ts'
export type { VolumeSettings } from './volumes/dynamic-volumes.ts'
export { findSignal, type Signal } from './signals.ts'
export { Beneath } from './store/beneath.ts'
export { bindDescriptor, detachMount, readMounts } from './store/mounts.ts'
export { errorCode, isMissing } from './store/state-file.ts'
export { diskStorage, memoryStorage, type AgentStorage } from './store/storage.ts'
export { ALLOCATION_MARK, TASK_MARK } from './task/environment.ts'
export {
  HOST_NETWORK,
  NO_JOB,
  type LogFiles,
  type TaskHandle,
  type TaskLaunch,
  type TaskMount,
  type TaskNetwork,
  type TaskPort,
  type TaskResources,
} from './task-launch.ts'
export type { ExecRequest, ExecSession, TaskUsage, TerminalSize } from './task-session.ts'
export { findUser, lookupUser, readHostAccounts, type HostAccounts, type HostUser } from './user.ts'
export { pause, withDeadline } from './wait.ts'
