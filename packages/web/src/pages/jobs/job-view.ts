import type { Job } from '@reeve/contract'
import type { JobName } from '../../paths.ts'

/** Props of every tab of the job page. */
export interface JobView {
  readonly job: Job
  readonly name: JobName
  readonly search: URLSearchParams
}

/** Reports whether the URL opens the definition in the editor. */
export function isEditing(search: URLSearchParams): boolean {
  return search.get('edit') === 'yes'
}
