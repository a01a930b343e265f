import type { Logger } from '@reeve/kit/log.ts'
import {
  AuditRetentionLoop,
  CheckpointLoop,
  ClockLoop,
  DeploymentLoop,
  DrainLoop,
  EvaluationLoop,
  TokenExpiryLoop,
  GarbageCollectionLoop,
  VariableLockLoop,
  PeriodicLoop,
  type EvaluationBroker,
  type HeartbeatMonitor,
} from '../control/index.ts'
import {
  AutoDestroyLoop,
  DriftLoop,
  NotificationLoop,
  RunWorker,
  type Notifier,
} from '../governance/index.ts'
import { RunController, type RunControllerOptions } from '../infrastructure/index.ts'
import type { AuditLimits, GcThresholds } from '../state/index.ts'
import type { WorkloadContext } from '../workload/index.ts'

/** A loop that only the leader runs. */
export interface LeaderLoop {
  start(): void
  stop(): void | Promise<void>
}

interface LeaderLoopsOptions {
  readonly context: WorkloadContext
  readonly log: Omit<Logger, 'debug'>
  readonly broker: EvaluationBroker
  readonly presence: HeartbeatMonitor
  readonly audit: AuditLimits
  /** How much of the log is kept for resuming event streams. */
  readonly retention: { readonly ageMsMax: number; readonly commitsMax: number }
  /** How long ended rows are kept. Default: the product's ages. */
  readonly ages?: GcThresholds
  /** Global tokens are copies of those of another region, which corrects them. */
  readonly copiesGlobalTokens: boolean
  /** How notifications of runs are sent. Default: not at all. */
  readonly notifier?: Pick<Notifier, 'webhooks' | 'address'>
  /** How infrastructure runs execute. */
  readonly execution: Pick<RunControllerOptions, 'settings' | 'address' | 'authorities'>
}

/**
 * Creates all loops of a leader in start order. The server and the simulation share this function,
 * so that the simulation tests the loops of the product.
 */
export function leaderLoops(options: LeaderLoopsOptions): readonly LeaderLoop[] {
  const { context, log, broker, presence, audit, retention, ages } = options
  const shared = { ...context, log }
  const clockLoop = new ClockLoop({ ...shared, copiesGlobalTokens: options.copiesGlobalTokens })
  const checkClock = (): void => clockLoop.check()
  return [
    clockLoop,
    new EvaluationLoop({ ...shared, broker }),
    presence,
    new PeriodicLoop(shared),
    new DeploymentLoop({ ...shared, checkClock }),
    new DrainLoop({ ...shared, checkClock }),
    new GarbageCollectionLoop({ ...shared, ...(ages === undefined ? {} : { ages }) }),
    new TokenExpiryLoop({ ...shared, checkClock }),
    new AuditRetentionLoop({ ...shared, limits: audit }),
    new VariableLockLoop({ ...shared, checkClock }),
    new AutoDestroyLoop({ context, log, checkClock }),
    new DriftLoop({ context, log }),
    new RunWorker({ context, log }),
    new RunController({ context, log, ...options.execution }),
    ...(options.notifier === undefined
      ? []
      : [new NotificationLoop({ notifier: { context, ...options.notifier }, log })]),
    new CheckpointLoop({ ...shared, retention }),
  ]
}
