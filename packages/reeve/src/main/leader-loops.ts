import {
  AuditLoop,
  CheckpointLoop,
  ClockLoop,
  DeploymentLoop,
  DrainLoop,
  EvaluationLoop,
  ExpiryLoop,
  GarbageLoop,
  LockLoop,
  PeriodicLoop,
  type ControlLog,
  type EvaluationBroker,
  type Presence,
} from '../control/index.ts'
import {
  AutoDestroyLoop,
  DriftLoop,
  NotificationLoop,
  RunLoop,
  type Notifier,
} from '../governance/index.ts'
import { RunController, type RunControllerOptions } from '../infrastructure/index.ts'
import type { AuditLimits, GarbageAges } from '../state/index.ts'
import type { WorkloadContext } from '../workload/index.ts'

/** A loop that only the leader runs. */
export interface LeaderLoop {
  start(): void
  stop(): void | Promise<void>
}

export interface LeaderLoopsOptions {
  readonly context: WorkloadContext
  readonly log: ControlLog
  readonly broker: EvaluationBroker
  readonly presence: Presence
  readonly audit: AuditLimits
  /** How much of the log streams can be resumed from. */
  readonly retention: { readonly ageMsMax: number; readonly commitsMax: number }
  /** How long ended rows are kept; the product's ages unless given. */
  readonly ages?: GarbageAges
  /** Global tokens are copies of those of another region, which corrects them. */
  readonly copiesGlobalTokens: boolean
  /** How notifications of runs are sent; none are unless given. */
  readonly notifier?: Pick<Notifier, 'webhooks' | 'address'>
  /** How infrastructure runs execute. */
  readonly execution: Pick<RunControllerOptions, 'settings' | 'address' | 'authorities'>
}

/**
 * Every loop of a leader, in the order in which they start. The server and the simulation call
 * this, so that the simulation proves what the product runs.
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
    new GarbageLoop({ ...shared, ...(ages === undefined ? {} : { ages }) }),
    new ExpiryLoop({ ...shared, checkClock }),
    new AuditLoop({ ...shared, limits: audit }),
    new LockLoop({ ...shared, checkClock }),
    new AutoDestroyLoop({ context, log, checkClock }),
    new DriftLoop({ context, log }),
    new RunLoop({ context, log }),
    new RunController({ context, log, ...options.execution }),
    ...(options.notifier === undefined
      ? []
      : [new NotificationLoop({ notifier: { context, ...options.notifier }, log })]),
    new CheckpointLoop({ ...shared, retention }),
  ]
}
