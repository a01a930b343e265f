import { useEffect } from 'react'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'

/** Redirects to the list of jobs. */
export function HomePage() {
  useEffect(() => navigate(paths.jobs(), { replace: true }), [])
  return null
}
