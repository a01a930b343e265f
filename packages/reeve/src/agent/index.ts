export { unbracketHost, newPolicyLookup, requireAllowedAddress } from './artifact/address-policy.ts'
export { readTar } from './artifact/tar.ts'
export { unpack, UnpackBudget } from './artifact/unpack.ts'
export { isReachable, websocketDialer } from './dial-websocket.ts'
export { DRIVER_UNAVAILABLE } from './driver.ts'
export type {
  DriverAddress,
  DriverContext,
  DriverHealth,
  LiveTasks,
  ReconcilingDriver,
  Reconciliation,
  Recovery,
  RunningTask,
  StopRequest,
  OrphanKillingDriver,
  TaskDriver,
  TaskExit,
  TaskIsolation,
} from './driver.ts'
export { fingerprint, type Fingerprint } from './fingerprint.ts'
export { memoryChannelPair, type Channel, type Dialer } from './link/channel.ts'
export type { Logger } from './log.ts'
export { TAR_END, tarHeader } from './migrate/tar-writer.ts'
export { BridgeNetwork } from './network/bridge-network.ts'
export { toBridgeSettings } from './network/bridge-rules.ts'
export { CniNetworks } from './network/cni/cni-networks.ts'
export { readHostData } from './remote/host-data.ts'
export { NodeNetworks } from './network/node-networks.ts'
export { NodeAgent } from './node-agent.ts'
export type { NodeSettings } from './node-description.ts'
export type { VolumeSettings } from './volumes/dynamic-volumes.ts'
export { findSignal, type Signal } from './signals.ts'
export { SafeDirectory } from './store/beneath.ts'
export { bindMountDescriptor, lazyUnmount, readMounts } from './store/mounts.ts'
export { errorCode, isMissing } from './store/state-file.ts'
export { diskStorage, memoryStorage, type AgentStorage } from './store/storage.ts'
export { ALLOCATION_ENV_KEY, TASK_ENV_KEY } from './task/environment.ts'
export {
  HOST_NETWORK,
  NO_IDENTITY,
  type TaskLogFiles,
  type TaskHandle,
  type TaskLaunch,
  type TaskMount,
  type TaskNetwork,
  type TaskPort,
  type TaskResources,
} from './task-launch.ts'
export type { ExecRequest, ExecSession, TaskUsage, TerminalSize } from './task-session.ts'
export {
  getHostUser,
  getUserIn,
  readHostAccounts,
  type HostAccounts,
  type HostUser,
} from './user.ts'
export { sleep, withTimeout } from './wait.ts'
