import type { Deployment, Job, JobSubmitter } from '@reeve/contract'

/** Who submitted a version of a job, with which client, and why. */
export interface VersionOrigin {
  /** Undefined for the server itself, and while ACLs are off. */
  readonly submittedBy: JobSubmitter | undefined
  readonly origin: string
  /** Empty when none was given. */
  readonly message: string
}

type OriginFields = Pick<Job, 'SubmittedBy' | 'Origin' | 'Message'>

/** The job as a version of this origin, whatever it said of an earlier one. */
export function withOrigin(job: Job, origin: VersionOrigin | undefined): Job {
  const { SubmittedBy: _submittedBy, Origin: _origin, Message: _message, ...rest } = job
  if (origin === undefined) return rest
  const { submittedBy, origin: Origin, message } = origin
  return {
    ...rest,
    ...(submittedBy === undefined ? {} : { SubmittedBy: submittedBy }),
    Origin,
    ...(message === '' ? {} : { Message: message }),
  }
}

/** The origin of a version as its deployment carries it. */
export function originOf(job: OriginFields): Pick<Deployment, keyof OriginFields> {
  const { SubmittedBy, Origin, Message } = job
  return {
    ...(SubmittedBy === undefined ? {} : { SubmittedBy }),
    ...(Origin === undefined ? {} : { Origin }),
    ...(Message === undefined ? {} : { Message }),
  }
}
