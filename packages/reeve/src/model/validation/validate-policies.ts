import type {
  DisconnectStrategy,
  MigrateStrategy,
  ReschedulePolicy,
  RestartPolicy,
  UpdateStrategy,
} from '@reeve/contract'
import { formatDurationNs, nsFromMs } from '@reeve/kit/duration.ts'
import { allOf, finding, quote, when, type Finding } from './finding.ts'

const SECOND_NS = nsFromMs(1_000)
const RESTART_INTERVAL_NS_MIN = 5 * SECOND_NS
const RESCHEDULE_DELAY_NS_MIN = 5 * SECOND_NS
const RESCHEDULE_INTERVAL_NS_MIN = 15 * SECOND_NS

const DELAY_FUNCTIONS = ['constant', 'exponential', 'fibonacci']
const RECONCILE_CHOICES = ['keep_original', 'keep_replacement', 'best_score', 'longest_running']

const text = formatDurationNs

export function checkUpdate(update: UpdateStrategy, path: string): readonly Finding[] {
  const { MinHealthyTime: minimum, HealthyDeadline: healthy, ProgressDeadline: progress } = update
  return allOf(
    when(
      !['checks', 'task_states', 'manual'].includes(update.HealthCheck) &&
        finding(`${path}.HealthCheck`, `Invalid health check given: ${quote(update.HealthCheck)}`),
    ),
    when(
      update.MaxParallel < 0 &&
        finding(
          `${path}.MaxParallel`,
          `Max parallel can not be less than zero: ${update.MaxParallel} < 0`,
        ),
    ),
    when(
      update.Canary < 0 &&
        finding(`${path}.Canary`, `Canary count can not be less than zero: ${update.Canary} < 0`),
    ),
    when(
      update.AutoPromote &&
        update.Canary <= 0 &&
        finding(`${path}.AutoPromote`, 'Auto Promote requires a Canary count greater than zero'),
    ),
    when(
      minimum < 0 &&
        finding(
          `${path}.MinHealthyTime`,
          `Minimum healthy time may not be less than zero: ${text(minimum)}`,
        ),
    ),
    when(
      healthy <= 0 &&
        finding(
          `${path}.HealthyDeadline`,
          `Healthy deadline must be greater than zero: ${text(healthy)}`,
        ),
    ),
    when(
      progress < 0 &&
        finding(
          `${path}.ProgressDeadline`,
          `Progress deadline must be zero or greater: ${text(progress)}`,
        ),
    ),
    when(
      minimum >= healthy &&
        finding(
          `${path}.MinHealthyTime`,
          `Minimum healthy time must be less than healthy deadline: ${text(minimum)} >= ${text(healthy)}`,
        ),
    ),
    when(
      progress !== 0 &&
        healthy >= progress &&
        finding(
          `${path}.HealthyDeadline`,
          `Healthy deadline must be less than progress deadline: ${text(healthy)} >= ${text(progress)}`,
        ),
    ),
    when(
      update.Stagger <= 0 &&
        finding(`${path}.Stagger`, `Stagger must be greater than zero: ${text(update.Stagger)}`),
    ),
  )
}

export function checkMigrate(migrate: MigrateStrategy, path: string): readonly Finding[] {
  const { MinHealthyTime: minimum, HealthyDeadline: deadline } = migrate
  return allOf(
    when(
      migrate.MaxParallel < 0 &&
        finding(`${path}.MaxParallel`, `MaxParallel must be >= 0 but found ${migrate.MaxParallel}`),
    ),
    when(
      !['checks', 'task_states'].includes(migrate.HealthCheck) &&
        finding(`${path}.HealthCheck`, `Invalid HealthCheck: ${quote(migrate.HealthCheck)}`),
    ),
    when(
      minimum < 0 &&
        finding(`${path}.MinHealthyTime`, `MinHealthyTime is ${text(minimum)} and must be >= 0`),
    ),
    when(
      deadline < 0 &&
        finding(`${path}.HealthyDeadline`, `HealthyDeadline is ${text(deadline)} and must be >= 0`),
    ),
    when(
      minimum > deadline &&
        finding(
          `${path}.MinHealthyTime`,
          `MinHealthyTime must be less than HealthyDeadline: ${text(minimum)} > ${text(deadline)}`,
        ),
    ),
  )
}

export function checkRestart(restart: RestartPolicy, path: string): readonly Finding[] {
  const { Attempts: attempts, Interval: interval, Delay: delay, Mode: mode } = restart
  return allOf(
    when(
      mode !== 'delay' &&
        mode !== 'fail' &&
        finding(`${path}.Mode`, `Unsupported restart mode: ${quote(mode)}`),
    ),
    when(
      attempts === 0 &&
        mode !== 'fail' &&
        finding(
          `${path}.Attempts`,
          `Restart policy ${quote(mode)} with ${attempts} attempts is ambiguous`,
        ),
    ),
    when(
      attempts < 0 && finding(`${path}.Attempts`, `Attempts can not be negative (got ${attempts})`),
    ),
    when(delay < 0 && finding(`${path}.Delay`, `Delay can not be negative (got ${text(delay)})`)),
    when(
      interval < RESTART_INTERVAL_NS_MIN &&
        finding(
          `${path}.Interval`,
          `Interval can not be less than ${text(RESTART_INTERVAL_NS_MIN)} (got ${text(interval)})`,
        ),
    ),
    when(
      attempts * delay > interval &&
        finding(
          path,
          `can't restart the task group ${attempts} times in an interval of ${text(interval)} with a delay of ${text(delay)}`,
        ),
    ),
  )
}

export function checkReschedule(policy: ReschedulePolicy, path: string): readonly Finding[] {
  const { Attempts: attempts, Interval: interval, Delay: delay, Unlimited: unlimited } = policy
  if (attempts <= 0 && !unlimited)
    return when(
      attempts < 0 && finding(`${path}.Attempts`, `Attempts can not be negative (got ${attempts})`),
    )
  const tooShort = delay < RESCHEDULE_DELAY_NS_MIN
  return allOf(
    when(
      attempts > 0 &&
        interval <= 0 &&
        finding(`${path}.Interval`, 'Interval must be a non zero value if Attempts > 0'),
    ),
    when(
      attempts > 0 &&
        unlimited &&
        finding(
          path,
          `Reschedule Policy with Attempts = ${attempts}, Interval = ${text(interval)}, and Unlimited = true is ambiguous`,
        ),
    ),
    when(
      tooShort &&
        finding(
          `${path}.Delay`,
          `Delay cannot be less than ${text(RESCHEDULE_DELAY_NS_MIN)} (got ${text(delay)})`,
        ),
    ),
    checkGrowth(policy, path),
    unlimited || tooShort ? [] : checkWindow(policy, path),
  )
}

function checkGrowth(policy: ReschedulePolicy, path: string): readonly Finding[] {
  const { DelayFunction: name, Delay: delay, MaxDelay: maximum } = policy
  const grows = name !== 'constant'
  return allOf(
    when(
      !DELAY_FUNCTIONS.includes(name) &&
        finding(
          `${path}.DelayFunction`,
          `Invalid delay function ${quote(name)}, must be one of ${DELAY_FUNCTIONS.map(quote).join(', ')}`,
        ),
    ),
    when(
      grows &&
        maximum < RESCHEDULE_DELAY_NS_MIN &&
        finding(
          `${path}.MaxDelay`,
          `Max Delay cannot be less than ${text(RESCHEDULE_DELAY_NS_MIN)} (got ${text(maximum)})`,
        ),
    ),
    when(
      grows &&
        maximum < delay &&
        finding(
          `${path}.MaxDelay`,
          `Max Delay cannot be less than Delay ${text(delay)} (got ${text(maximum)})`,
        ),
    ),
  )
}

/** Whether the attempts of a limited policy have room in its interval at all. */
function checkWindow(policy: ReschedulePolicy, path: string): readonly Finding[] {
  const { Attempts: attempts, Interval: interval, Delay: delay } = policy
  const needed = sumOfDelays(policy)
  return allOf(
    when(
      interval < RESCHEDULE_INTERVAL_NS_MIN &&
        finding(
          `${path}.Interval`,
          `Interval cannot be less than ${text(RESCHEDULE_INTERVAL_NS_MIN)} (got ${text(interval)})`,
        ),
    ),
    when(
      needed > interval &&
        finding(
          `${path}.Interval`,
          `${attempts} attempts with an initial delay of ${text(delay)} and delay function ${quote(policy.DelayFunction)} do not fit in an interval of ${text(interval)}; set the interval to at least ${text(needed)}`,
        ),
    ),
  )
}

/** Counts step by step only until the cap is reached: attempts come from the caller. */
function sumOfDelays({ Attempts, Delay, DelayFunction, MaxDelay }: ReschedulePolicy): number {
  if (DelayFunction === 'constant') return Attempts * Delay
  let [sum, delay, before] = [0, Delay, 0]
  for (let attempt = 0; attempt < Attempts; attempt++) {
    if (delay >= MaxDelay) return sum + (Attempts - attempt) * MaxDelay
    sum += delay
    const next = DelayFunction === 'exponential' ? delay * 2 : Math.max(delay, delay + before)
    before = delay
    delay = next
  }
  return sum
}

export function checkDisconnect(
  strategy: DisconnectStrategy,
  path: string,
  jobType: string,
): readonly Finding[] {
  const { LostAfter: lostAfter, StopOnClientAfter: stopAfter, Reconcile: reconcile } = strategy
  return allOf(
    when(lostAfter < 0 && finding(`${path}.LostAfter`, 'lost_after cannot be a negative duration')),
    when(
      stopAfter !== null &&
        stopAfter < 0 &&
        finding(`${path}.StopOnClientAfter`, 'stop_on_client_after cannot be a negative duration'),
    ),
    when(
      lostAfter > 0 &&
        stopAfter !== null &&
        finding(path, 'lost_after and stop_on_client_after cannot both be set'),
    ),
    when(
      stopAfter !== null &&
        jobType !== 'service' &&
        jobType !== 'batch' &&
        finding(
          `${path}.StopOnClientAfter`,
          'stop_on_client_after can only be used with service and batch jobs',
        ),
    ),
    when(
      !RECONCILE_CHOICES.includes(reconcile) &&
        finding(
          `${path}.Reconcile`,
          `Invalid reconcile option ${quote(reconcile)}, must be one of ${RECONCILE_CHOICES.map(quote).join(', ')}`,
        ),
    ),
  )
}
