import type { Deployment, Job, JobSubmitter } from '@reeve/contract'

/** Author, client and message of a job version. */
export interface VersionOrigin {
  /** Undefined for the server itself, and with ACLs disabled. */
  readonly submittedBy: JobSubmitter | undefined
  readonly origin: string
  /** Empty if none was given. */
  readonly message: string
}

type OriginFields = Pick<Job, 'SubmittedBy' | 'Origin' | 'Message'>

/** Returns the job as a version of this origin, replacing the origin of an earlier one. */
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

/** Returns the origin of a version, for its deployment. */
export function originFieldsOf(job: OriginFields): Pick<Deployment, keyof OriginFields> {
  const { SubmittedBy, Origin, Message } = job
  return {
    ...(SubmittedBy === undefined ? {} : { SubmittedBy }),
    ...(Origin === undefined ? {} : { Origin }),
    ...(Message === undefined ? {} : { Message }),
  }
}
