import { Admission, type AdmissionOptions } from '../../src/http/pipeline/admission.ts'
import { SCHEDULER_LIMITS } from '../../src/http/pipeline/request-scheduler.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'

/** Admission for tests: no token is known, no rate is limited, and no tick is cut short by time. */
export function anAdmission(options: Partial<AdmissionOptions> = {}): Admission {
  return new Admission({
    clock: new SimulatedClock(),
    findOwner: () => undefined,
    requestsPerSecond: 0,
    anonymousRequestsPerSecond: 0,
    scheduler: { ...SCHEDULER_LIMITS, tickMs: 60_000 },
    ...options,
  })
}
