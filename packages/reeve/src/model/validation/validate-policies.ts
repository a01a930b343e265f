import type {
  DisconnectStrategy,
  MigrateStrategy,
  ReschedulePolicy,
  RestartPolicy,
  ScalingPolicy,
  UpdateStrategy,
} from '@reeve/contract'
import { formatDurationNs, nsFromMs } from '@reeve/kit/duration.ts'
import { concatIssues, issue, quote, issueIf, type ValidationIssue } from './validation-issue.ts'

const SECOND_NS = nsFromMs(1_000)
const MIN_RESTART_INTERVAL_NS = 5 * SECOND_NS
const MIN_RESCHEDULE_DELAY_NS = 5 * SECOND_NS
const MIN_RESCHEDULE_INTERVAL_NS = 15 * SECOND_NS

const DELAY_FUNCTIONS = ['constant', 'exponential', 'fibonacci']
const RECONCILE_STRATEGIES = ['keep_original', 'keep_replacement', 'best_score', 'longest_running']

const formatDuration = formatDurationNs

export function checkUpdate(update: UpdateStrategy, path: string): readonly ValidationIssue[] {
  const { MinHealthyTime: minimum, HealthyDeadline: healthy, ProgressDeadline: progress } = update
  return concatIssues(
    issueIf(
      !['checks', 'task_states', 'manual'].includes(update.HealthCheck) &&
        issue(`${path}.HealthCheck`, `Invalid health check given: ${quote(update.HealthCheck)}`),
    ),
    issueIf(
      update.MaxParallel < 0 &&
        issue(
          `${path}.MaxParallel`,
          `Max parallel can not be less than zero: ${update.MaxParallel} < 0`,
        ),
    ),
    issueIf(
      update.Canary < 0 &&
        issue(`${path}.Canary`, `Canary count can not be less than zero: ${update.Canary} < 0`),
    ),
    issueIf(
      update.AutoPromote &&
        update.Canary <= 0 &&
        issue(`${path}.AutoPromote`, 'Auto Promote requires a Canary count greater than zero'),
    ),
    issueIf(
      minimum < 0 &&
        issue(
          `${path}.MinHealthyTime`,
          `Minimum healthy time may not be less than zero: ${formatDuration(minimum)}`,
        ),
    ),
    issueIf(
      healthy <= 0 &&
        issue(
          `${path}.HealthyDeadline`,
          `Healthy deadline must be greater than zero: ${formatDuration(healthy)}`,
        ),
    ),
    issueIf(
      progress < 0 &&
        issue(
          `${path}.ProgressDeadline`,
          `Progress deadline must be zero or greater: ${formatDuration(progress)}`,
        ),
    ),
    issueIf(
      minimum >= healthy &&
        issue(
          `${path}.MinHealthyTime`,
          `Minimum healthy time must be less than healthy deadline: ${formatDuration(minimum)} >= ${formatDuration(healthy)}`,
        ),
    ),
    issueIf(
      progress !== 0 &&
        healthy >= progress &&
        issue(
          `${path}.HealthyDeadline`,
          `Healthy deadline must be less than progress deadline: ${formatDuration(healthy)} >= ${formatDuration(progress)}`,
        ),
    ),
    issueIf(
      update.Stagger <= 0 &&
        issue(
          `${path}.Stagger`,
          `Stagger must be greater than zero: ${formatDuration(update.Stagger)}`,
        ),
    ),
  )
}

export function checkMigrate(migrate: MigrateStrategy, path: string): readonly ValidationIssue[] {
  const { MinHealthyTime: minimum, HealthyDeadline: deadline } = migrate
  return concatIssues(
    issueIf(
      migrate.MaxParallel < 0 &&
        issue(`${path}.MaxParallel`, `MaxParallel must be >= 0 but found ${migrate.MaxParallel}`),
    ),
    issueIf(
      !['checks', 'task_states'].includes(migrate.HealthCheck) &&
        issue(`${path}.HealthCheck`, `Invalid HealthCheck: ${quote(migrate.HealthCheck)}`),
    ),
    issueIf(
      minimum < 0 &&
        issue(
          `${path}.MinHealthyTime`,
          `MinHealthyTime is ${formatDuration(minimum)} and must be >= 0`,
        ),
    ),
    issueIf(
      deadline < 0 &&
        issue(
          `${path}.HealthyDeadline`,
          `HealthyDeadline is ${formatDuration(deadline)} and must be >= 0`,
        ),
    ),
    issueIf(
      minimum > deadline &&
        issue(
          `${path}.MinHealthyTime`,
          `MinHealthyTime must be less than HealthyDeadline: ${formatDuration(minimum)} > ${formatDuration(deadline)}`,
        ),
    ),
  )
}

export function checkRestart(restart: RestartPolicy, path: string): readonly ValidationIssue[] {
  const { Attempts: attempts, Interval: interval, Delay: delay, Mode: mode } = restart
  return concatIssues(
    issueIf(
      mode !== 'delay' &&
        mode !== 'fail' &&
        issue(`${path}.Mode`, `Unsupported restart mode: ${quote(mode)}`),
    ),
    issueIf(
      attempts === 0 &&
        mode !== 'fail' &&
        issue(
          `${path}.Attempts`,
          `Restart policy ${quote(mode)} with ${attempts} attempts is ambiguous`,
        ),
    ),
    issueIf(
      attempts < 0 && issue(`${path}.Attempts`, `Attempts can not be negative (got ${attempts})`),
    ),
    issueIf(
      delay < 0 &&
        issue(`${path}.Delay`, `Delay can not be negative (got ${formatDuration(delay)})`),
    ),
    issueIf(
      interval < MIN_RESTART_INTERVAL_NS &&
        issue(
          `${path}.Interval`,
          `Interval can not be less than ${formatDuration(MIN_RESTART_INTERVAL_NS)} (got ${formatDuration(interval)})`,
        ),
    ),
    issueIf(
      attempts * delay > interval &&
        issue(
          path,
          `can't restart the task group ${attempts} times in an interval of ${formatDuration(interval)} with a delay of ${formatDuration(delay)}`,
        ),
    ),
  )
}

export function checkReschedule(
  policy: ReschedulePolicy,
  path: string,
): readonly ValidationIssue[] {
  const { Attempts: attempts, Interval: interval, Delay: delay, Unlimited: unlimited } = policy
  if (attempts <= 0 && !unlimited)
    return issueIf(
      attempts < 0 && issue(`${path}.Attempts`, `Attempts can not be negative (got ${attempts})`),
    )
  const tooShort = delay < MIN_RESCHEDULE_DELAY_NS
  return concatIssues(
    issueIf(
      attempts > 0 &&
        interval <= 0 &&
        issue(`${path}.Interval`, 'Interval must be a non zero value if Attempts > 0'),
    ),
    issueIf(
      attempts > 0 &&
        unlimited &&
        issue(
          path,
          `Reschedule Policy with Attempts = ${attempts}, Interval = ${formatDuration(interval)}, and Unlimited = true is ambiguous`,
        ),
    ),
    issueIf(
      tooShort &&
        issue(
          `${path}.Delay`,
          `Delay cannot be less than ${formatDuration(MIN_RESCHEDULE_DELAY_NS)} (got ${formatDuration(delay)})`,
        ),
    ),
    checkDelayFunction(policy, path),
    unlimited || tooShort ? [] : checkAttemptsFitInterval(policy, path),
  )
}

function checkDelayFunction(policy: ReschedulePolicy, path: string): readonly ValidationIssue[] {
  const { DelayFunction: name, Delay: delay, MaxDelay: maximum } = policy
  const delayIncreases = name !== 'constant'
  return concatIssues(
    issueIf(
      !DELAY_FUNCTIONS.includes(name) &&
        issue(
          `${path}.DelayFunction`,
          `Invalid delay function ${quote(name)}, must be one of ${DELAY_FUNCTIONS.map(quote).join(', ')}`,
        ),
    ),
    issueIf(
      delayIncreases &&
        maximum < MIN_RESCHEDULE_DELAY_NS &&
        issue(
          `${path}.MaxDelay`,
          `Max Delay cannot be less than ${formatDuration(MIN_RESCHEDULE_DELAY_NS)} (got ${formatDuration(maximum)})`,
        ),
    ),
    issueIf(
      delayIncreases &&
        maximum < delay &&
        issue(
          `${path}.MaxDelay`,
          `Max Delay cannot be less than Delay ${formatDuration(delay)} (got ${formatDuration(maximum)})`,
        ),
    ),
  )
}

/** Checks that the attempts of a limited policy fit into its interval. */
function checkAttemptsFitInterval(
  policy: ReschedulePolicy,
  path: string,
): readonly ValidationIssue[] {
  const { Attempts: attempts, Interval: interval, Delay: delay } = policy
  const requiredNs = sumDelaysNs(policy)
  return concatIssues(
    issueIf(
      interval < MIN_RESCHEDULE_INTERVAL_NS &&
        issue(
          `${path}.Interval`,
          `Interval cannot be less than ${formatDuration(MIN_RESCHEDULE_INTERVAL_NS)} (got ${formatDuration(interval)})`,
        ),
    ),
    issueIf(
      requiredNs > interval &&
        issue(
          `${path}.Interval`,
          `${attempts} attempts with an initial delay of ${formatDuration(delay)} and delay function ${quote(policy.DelayFunction)} do not fit in an interval of ${formatDuration(interval)}; set the interval to at least ${formatDuration(requiredNs)}`,
        ),
    ),
  )
}

/**
 * Sums delays one by one only until the maximum delay is reached, because the number of attempts
 * comes from the caller.
 */
function sumDelaysNs({ Attempts, Delay, DelayFunction, MaxDelay }: ReschedulePolicy): number {
  if (DelayFunction === 'constant') return Attempts * Delay
  let [sum, delay, previous] = [0, Delay, 0]
  for (let attempt = 0; attempt < Attempts; attempt++) {
    if (delay >= MaxDelay) return sum + (Attempts - attempt) * MaxDelay
    sum += delay
    const next = DelayFunction === 'exponential' ? delay * 2 : Math.max(delay, delay + previous)
    previous = delay
    delay = next
  }
  return sum
}

export function checkDisconnect(
  strategy: DisconnectStrategy,
  path: string,
  jobType: string,
): readonly ValidationIssue[] {
  const { LostAfter: lostAfter, StopOnClientAfter: stopAfter, Reconcile: reconcile } = strategy
  return concatIssues(
    issueIf(
      lostAfter < 0 && issue(`${path}.LostAfter`, 'lost_after cannot be a negative duration'),
    ),
    issueIf(
      stopAfter !== null &&
        stopAfter < 0 &&
        issue(`${path}.StopOnClientAfter`, 'stop_on_client_after cannot be a negative duration'),
    ),
    issueIf(
      lostAfter > 0 &&
        stopAfter !== null &&
        issue(path, 'lost_after and stop_on_client_after cannot both be set'),
    ),
    issueIf(
      stopAfter !== null &&
        jobType !== 'service' &&
        jobType !== 'batch' &&
        issue(
          `${path}.StopOnClientAfter`,
          'stop_on_client_after can only be used with service and batch jobs',
        ),
    ),
    issueIf(
      !RECONCILE_STRATEGIES.includes(reconcile) &&
        issue(
          `${path}.Reconcile`,
          `Invalid reconcile option ${quote(reconcile)}, must be one of ${RECONCILE_STRATEGIES.map(quote).join(', ')}`,
        ),
    ),
  )
}

/** Checks the bounds of a scaling policy of a group or task. */
export function checkScalingBounds(
  policy: ScalingPolicy,
  path: string,
): readonly ValidationIssue[] {
  const { Min: minimum, Max: maximum } = policy
  return concatIssues(
    issueIf(
      maximum < 0 &&
        issue(
          `${path}.Max`,
          'Scaling policy invalid: maximum count must be specified and non-negative',
        ),
    ),
    issueIf(
      maximum >= 0 &&
        maximum < minimum &&
        issue(
          `${path}.Max`,
          'Scaling policy invalid: maximum count must not be less than minimum count',
        ),
    ),
    issueIf(
      minimum < 0 &&
        issue(`${path}.Min`, 'Scaling policy invalid: minimum count must be non-negative'),
    ),
  )
}
