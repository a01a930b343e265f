import { useEffect } from 'react'
import { paths } from '../../paths.ts'
import { navigate } from '../../routing/location.ts'

/** The jobs are what most people come for. */
export function HomePage() {
  useEffect(() => navigate(paths.jobs(), { replace: true }), [])
  return null
}
